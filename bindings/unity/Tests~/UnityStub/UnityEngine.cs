using System;
using System.Collections;
using System.Collections.Generic;
using System.Linq;

namespace UnityEngine
{
    public enum RuntimeInitializeLoadType
    {
        SubsystemRegistration,
    }

    public enum PrimitiveType
    {
        Plane,
        Cube,
        Capsule,
        Sphere,
    }

    public class Object
    {
        public string name { get; set; }

        public static void DontDestroyOnLoad(Object target)
        {
        }

        public static void Destroy(Object target)
        {
            foreach (MonoBehaviour behaviour in ((GameObject)target).Behaviours)
            {
                Engine.Destroy(behaviour);
            }
        }
    }

    public class Component : Object
    {
        public GameObject gameObject { get; internal set; }

        public Transform transform => gameObject.transform;
    }

    public class Transform : Component, IEnumerable
    {
        public Vector3 position { get; set; }

        public Vector3 localScale { get; set; }

        public Quaternion rotation { get; set; }

        /// <summary>Its children.</summary>
        public IEnumerator GetEnumerator() => new object[0].GetEnumerator();
    }

    public class MonoBehaviour : Component
    {
        public object StartCoroutine(IEnumerator routine)
        {
            Engine.Add(routine);
            return routine;
        }
    }

    public class Camera : Component
    {
        public static Camera main => null;
    }

    public class Material
    {
        public Color color { get; set; }
    }

    public class Renderer : Component
    {
        public Material material { get; } = new Material();
    }

    public sealed class GameObject : Object
    {
        private readonly List<Component> components = new List<Component>();

        public GameObject(string name)
        {
            this.name = name;
            AddComponent<Transform>();
        }

        public Transform transform => GetComponent<Transform>();

        internal List<MonoBehaviour> Behaviours => components.OfType<MonoBehaviour>().ToList();

        public static GameObject CreatePrimitive(PrimitiveType type)
        {
            var primitive = new GameObject(type.ToString());
            primitive.AddComponent<Renderer>();
            return primitive;
        }

        public T AddComponent<T>()
            where T : Component, new()
        {
            var component = new T { gameObject = this, name = name };
            components.Add(component);
            if (component is MonoBehaviour behaviour)
            {
                Engine.Add(behaviour);
            }
            return component;
        }

        public T GetComponent<T>()
            where T : Component => components.OfType<T>().FirstOrDefault();
    }

    public static class Debug
    {
        /// <summary>Called with everything that is logged in the ordinary way.</summary>
        public static Action<object> OnLog = message => { };

        public static void Log(object message) => OnLog(message);

        public static void LogWarning(object message) => Engine.Logged.Enqueue("warning: " + message);

        public static void LogError(object message) => Engine.Logged.Enqueue("error: " + message);

        public static void LogException(Exception exception) => Engine.Logged.Enqueue("exception: " + exception);
    }

    public static class Application
    {
        public static event Action quitting;

        public static bool isPlaying { get; internal set; }

        internal static void Quit()
        {
            quitting?.Invoke();
            isPlaying = false;
        }
    }

    public static class Time
    {
        public static float deltaTime => 0.1f;
    }

    public struct Vector3
    {
        public float x;
        public float y;
        public float z;

        public Vector3(float x, float y, float z)
        {
            this.x = x;
            this.y = y;
            this.z = z;
        }

        public static Vector3 zero => new Vector3(0f, 0f, 0f);

        public static Vector3 one => new Vector3(1f, 1f, 1f);

        public static Vector3 Lerp(Vector3 a, Vector3 b, float t) =>
            new Vector3(a.x + (b.x - a.x) * t, a.y + (b.y - a.y) * t, a.z + (b.z - a.z) * t);
    }

    public struct Quaternion
    {
        public static Quaternion Euler(float x, float y, float z) => default(Quaternion);
    }

    public struct Color
    {
        public Color(float r, float g, float b)
        {
        }

        public static Color gray => default(Color);

        public static Color white => default(Color);

        public static Color green => default(Color);

        public static Color red => default(Color);

        public static Color blue => default(Color);
    }

    public struct Rect
    {
        public Rect(float x, float y, float width, float height)
        {
        }
    }

    public static class GUI
    {
        public static bool enabled { get; set; }
    }

    public static class GUILayout
    {
        public static void BeginArea(Rect screenRect)
        {
        }

        public static void EndArea()
        {
        }

        public static void Label(string text)
        {
            if (text == null)
            {
                throw new ArgumentNullException(nameof(text));
            }
        }

        public static bool Button(string text) => false;

        public static string TextField(string text) => text;
    }

    [AttributeUsage(AttributeTargets.Class)]
    public sealed class AddComponentMenu : Attribute
    {
        public AddComponentMenu(string menuName)
        {
        }
    }

    [AttributeUsage(AttributeTargets.Class)]
    public sealed class DisallowMultipleComponent : Attribute
    {
    }

    [AttributeUsage(AttributeTargets.Method)]
    public sealed class RuntimeInitializeOnLoadMethodAttribute : Attribute
    {
        public RuntimeInitializeOnLoadMethodAttribute(RuntimeInitializeLoadType loadType)
        {
        }
    }
}

namespace AOT
{
    [AttributeUsage(AttributeTargets.Method)]
    public sealed class MonoPInvokeCallbackAttribute : Attribute
    {
        public MonoPInvokeCallbackAttribute(Type type)
        {
        }
    }
}
