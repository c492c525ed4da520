#if UNITY_5_3_OR_NEWER
using System;
using UnityEngine;

namespace OpenAppleModels
{
    /// <summary>
    /// Owns a bridge in a scene: pumps it once a frame, and disposes it with the object. Add it to an object, or call
    /// <see cref="Create(string)"/> for one that outlives scenes.
    /// </summary>
    [AddComponentMenu("Open Apple Models/Bridge Runner")]
    [DisallowMultipleComponent]
    public sealed class OamBridgeRunner : MonoBehaviour
    {
        private OamOptions options;
        private OamBridge bridge;
        private bool isDestroyed;

        /// <summary>The bridge, started when it is first asked for.</summary>
        /// <exception cref="ObjectDisposedException">The object was destroyed.</exception>
        public OamBridge Bridge
        {
            get
            {
                if (isDestroyed)
                {
                    throw new ObjectDisposedException(nameof(OamBridgeRunner));
                }
                return bridge ?? (bridge = new OamBridge(options));
            }
        }

        /// <summary>
        /// Starts a bridge on a new object that is kept when scenes change: call it once for a game, not once for each scene.
        /// </summary>
        /// <param name="name">The name of the object.</param>
        /// <exception cref="InvalidOperationException">No game is played, so nothing would pump the bridge.</exception>
        public static OamBridgeRunner Create(string name = "OpenAppleModels") => Create(null, name);

        /// <summary>Starts a bridge with options on a new object that is kept when scenes change.</summary>
        /// <param name="options">What differs from the library's defaults.</param>
        /// <param name="name">The name of the object.</param>
        /// <exception cref="InvalidOperationException">No game is played, so nothing would pump the bridge.</exception>
        public static OamBridgeRunner Create(OamOptions options, string name = "OpenAppleModels")
        {
            if (!Application.isPlaying)
            {
                throw new InvalidOperationException(
                    "A runner works while a game is played. In the editor make an OamBridge, pump it in EditorApplication.update, and dispose it.");
            }
            var started = new OamBridge(options);
            var host = new GameObject(name);
            DontDestroyOnLoad(host);
            OamBridgeRunner runner = host.AddComponent<OamBridgeRunner>();
            runner.options = options;
            runner.bridge = started;
            return runner;
        }

        private void Update()
        {
            bridge?.Pump();
        }

        private void OnDestroy()
        {
            isDestroyed = true;
            bridge?.Dispose();
        }
    }
}
#endif
