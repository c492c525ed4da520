using System;
using System.Collections.Generic;

namespace OpenAppleModels
{
    /// <summary>A request whose response has not come yet, and who waits for it.</summary>
    internal sealed class PendingRequest
    {
        public PendingRequest(Action<object> onResult, Action<Exception> onError, Action<Dictionary<string, object>> onEvent)
        {
            OnResult = onResult;
            OnError = onError;
            OnEvent = onEvent;
        }

        public Action<object> OnResult { get; }

        public Action<Exception> OnError { get; }

        public Action<Dictionary<string, object>> OnEvent { get; }
    }

    /// <summary>The requests on their way, by id. Each is taken out once, so each is answered once.</summary>
    internal sealed class PendingRequests
    {
        private readonly Dictionary<string, PendingRequest> requests = new Dictionary<string, PendingRequest>();

        public void Add(string id, PendingRequest request)
        {
            lock (requests)
            {
                requests.Add(id, request);
            }
        }

        /// <summary>The request with this id, or null.</summary>
        public PendingRequest Find(string id)
        {
            lock (requests)
            {
                return id != null && requests.TryGetValue(id, out PendingRequest request) ? request : null;
            }
        }

        /// <summary>Takes the request with this id out; null if somebody else did.</summary>
        public PendingRequest Take(string id)
        {
            lock (requests)
            {
                PendingRequest request = Find(id);
                if (request != null)
                {
                    requests.Remove(id);
                }
                return request;
            }
        }

        public List<PendingRequest> TakeAll()
        {
            lock (requests)
            {
                var all = new List<PendingRequest>(requests.Values);
                requests.Clear();
                return all;
            }
        }
    }
}
