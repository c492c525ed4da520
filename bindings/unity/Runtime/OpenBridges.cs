using System;
using System.Collections.Generic;
using System.Linq;

namespace OpenAppleModels
{
    /// <summary>
    /// The bridges that are not disposed. They keep their threads and call back into this domain, so none may outlive it: all are
    /// disposed when the domain is unloaded or the program ends.
    /// </summary>
    internal static class OpenBridges
    {
        private static readonly HashSet<OamBridge> Bridges = new HashSet<OamBridge>();

        static OpenBridges()
        {
            AppDomain.CurrentDomain.DomainUnload += (sender, arguments) => DisposeAll();
            AppDomain.CurrentDomain.ProcessExit += (sender, arguments) => DisposeAll();
        }

        public static void Add(OamBridge bridge)
        {
            lock (Bridges)
            {
                Bridges.Add(bridge);
            }
        }

        public static void Remove(OamBridge bridge)
        {
            lock (Bridges)
            {
                Bridges.Remove(bridge);
            }
        }

        public static void DisposeAll()
        {
            OamBridge[] bridges;
            lock (Bridges)
            {
                bridges = Bridges.ToArray();
            }
            foreach (OamBridge bridge in bridges)
            {
                bridge.Dispose();
            }
        }
    }
}
