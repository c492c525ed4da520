using System;
using System.Collections.Generic;
using System.Threading.Tasks;

namespace OpenAppleModels
{
    /// <summary>
    /// A JSON object that the game and its characters share. Paths are keys and list positions joined by dots, <c>party.0.name</c>;
    /// the root is <c>""</c>. Tasks fail as those of <see cref="OamBridge.RequestAsync"/> do.
    /// </summary>
    public sealed class OamWorld
    {
        internal OamWorld(OamBridge bridge, string id)
        {
            Bridge = bridge;
            Id = id;
        }

        /// <summary>The bridge that the world lives on.</summary>
        public OamBridge Bridge { get; }

        /// <summary>The id of the world.</summary>
        public string Id { get; }

        /// <summary>The value at a path; null where there is none.</summary>
        public Task<object> GetAsync(string path = "") => CallAsync("world/get", Params(path), result => result.Member("value"));

        /// <summary>Stores a value, null included, and makes the objects that are missing on the way; returns the world's version.</summary>
        public Task<long> SetAsync(string path, object value) =>
            CallAsync("world/set", Params(path).WithNullable("value", value), result => result.Integer("version"));

        /// <summary>Applies a JSON merge patch: objects merge, null deletes, all else replaces. Returns the world's version.</summary>
        public Task<long> MergeAsync(object patch, string path = "") =>
            CallAsync("world/merge", Params(path).WithNullable("patch", patch), result => result.Integer("version"));

        /// <summary>Removes what is at a path; returns it, null if there was nothing.</summary>
        public Task<object> RemoveAsync(string path) => CallAsync("world/remove", Params(path), result => result.Member("oldValue"));

        /// <summary>All of the world.</summary>
        public Task<Dictionary<string, object>> SnapshotAsync() =>
            CallAsync("world/snapshot", Params(null), result => result.Object("state"));

        /// <summary>Calls back on each change at, inside or above a path; returns the id of the subscription.</summary>
        /// <param name="onChange">Gets <c>path</c>, and <c>oldValue</c> and <c>newValue</c> where there are such.</param>
        /// <param name="path">What to watch.</param>
        public Task<string> SubscribeAsync(Action<Dictionary<string, object>> onChange, string path = "")
        {
            if (onChange == null)
            {
                throw new ArgumentNullException(nameof(onChange));
            }
            return CallAsync("world/subscribe", Params(path), result =>
            {
                string subscription = result.Text("subscription");
                Bridge.WorldSubscriptions.Add(subscription, Id, onChange);
                return subscription;
            });
        }

        /// <summary>Ends a subscription.</summary>
        public Task UnsubscribeAsync(string subscription) =>
            CallAsync("world/unsubscribe", new Parameters { { "subscription", subscription } }, result =>
            {
                Bridge.WorldSubscriptions.Remove(subscription);
                return result;
            });

        /// <summary>Frees the id and ends all subscriptions. Characters that live in the world keep it.</summary>
        public Task DeleteAsync() =>
            CallAsync("world/delete", Params(null), result =>
            {
                Bridge.WorldSubscriptions.RemoveWorld(Id);
                return result;
            });

        private Parameters Params(string path) => new Parameters { { "world", Id }, { "path", path } };

        private Task<T> CallAsync<T>(string method, Parameters parameters, Func<Dictionary<string, object>, T> read) =>
            Bridge.CallAsync(method, parameters, result => read((Dictionary<string, object>)result));
    }
}
