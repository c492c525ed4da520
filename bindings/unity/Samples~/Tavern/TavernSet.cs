using System;
using System.Collections;
using UnityEngine;

namespace OpenAppleModels.Samples.Tavern
{
    /// <summary>The room: a floor, a counter, Mira behind it, and a bowl that she carries over.</summary>
    internal sealed class TavernSet
    {
        private static readonly Vector3 InTheKitchen = new Vector3(2.5f, 1.2f, 1f);
        private static readonly Vector3 BeforeThePlayer = new Vector3(0f, 1.2f, -0.4f);

        private readonly GameObject mira;
        private readonly GameObject bowl;

        public TavernSet()
        {
            Build(PrimitiveType.Plane, "Floor", Vector3.zero, Vector3.one, new Color(0.35f, 0.25f, 0.2f));
            Build(PrimitiveType.Cube, "Counter", new Vector3(0f, 0.5f, 0f), new Vector3(4f, 1f, 0.8f), new Color(0.5f, 0.3f, 0.15f));
            mira = Build(PrimitiveType.Capsule, "Mira", new Vector3(0f, 1f, 1f), Vector3.one, Color.gray);
            bowl = Build(PrimitiveType.Sphere, "Bowl", InTheKitchen, new Vector3(0.4f, 0.2f, 0.4f), Color.white);
            Camera camera = Camera.main != null ? Camera.main : new GameObject("Camera").AddComponent<Camera>();
            camera.transform.position = new Vector3(0f, 2f, -4f);
            camera.transform.rotation = Quaternion.Euler(12f, 0f, 0f);
        }

        public void ShowEmotion(string emotion) => mira.GetComponent<Renderer>().material.color = ColorOf(emotion);

        /// <summary>Carries the bowl over the counter, one step a frame, unless it is no longer wanted.</summary>
        public IEnumerator Serve(Func<bool> isUnwanted, Action onServed)
        {
            const float Seconds = 1.5f;
            for (float passed = 0f; passed < Seconds; passed += Time.deltaTime)
            {
                if (isUnwanted())
                {
                    bowl.transform.position = InTheKitchen;
                    yield break;
                }
                bowl.transform.position = Vector3.Lerp(InTheKitchen, BeforeThePlayer, passed / Seconds);
                yield return null;
            }
            bowl.transform.position = BeforeThePlayer;
            onServed();
        }

        private static GameObject Build(PrimitiveType shape, string name, Vector3 position, Vector3 scale, Color color)
        {
            GameObject built = GameObject.CreatePrimitive(shape);
            built.name = name;
            built.transform.position = position;
            built.transform.localScale = scale;
            built.GetComponent<Renderer>().material.color = color;
            return built;
        }

        private static Color ColorOf(string emotion)
        {
            switch (emotion)
            {
                case "happy":
                case "amused":
                case "proud":
                case "grateful":
                    return Color.green;
                case "angry":
                case "annoyed":
                case "disgusted":
                    return Color.red;
                case "sad":
                case "afraid":
                case "worried":
                    return Color.blue;
                default:
                    return Color.gray;
            }
        }
    }
}
