using System;
using System.Collections.Generic;
using System.Linq;

namespace OpenAppleModels
{
    /// <summary>Who wants to know of which world's changes.</summary>
    internal sealed class Subscriptions
    {
        private readonly Dictionary<string, Subscription> subscriptions = new Dictionary<string, Subscription>();

        public void Add(string id, string world, Action<Dictionary<string, object>> onChange)
        {
            lock (subscriptions)
            {
                subscriptions[id] = new Subscription { World = world, OnChange = onChange };
            }
        }

        /// <summary>The handler of a subscription, or null.</summary>
        public Action<Dictionary<string, object>> Find(string id)
        {
            lock (subscriptions)
            {
                return id != null && subscriptions.TryGetValue(id, out Subscription subscription) ? subscription.OnChange : null;
            }
        }

        public void Remove(string id)
        {
            lock (subscriptions)
            {
                subscriptions.Remove(id);
            }
        }

        public void RemoveWorld(string world)
        {
            lock (subscriptions)
            {
                foreach (string id in subscriptions.Where(entry => entry.Value.World == world).Select(entry => entry.Key).ToList())
                {
                    subscriptions.Remove(id);
                }
            }
        }

        public void Clear()
        {
            lock (subscriptions)
            {
                subscriptions.Clear();
            }
        }

        private struct Subscription
        {
            public string World;
            public Action<Dictionary<string, object>> OnChange;
        }
    }
}
