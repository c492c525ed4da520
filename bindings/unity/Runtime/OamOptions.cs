using System.Collections.Generic;

namespace OpenAppleModels
{
    /// <summary>
    /// What a bridge can be told when it is made. Whatever is left null has the library's default. With a value that the library
    /// refuses, every request fails with <c>invalid_params</c> and the name of the option.
    /// </summary>
    public sealed class OamOptions
    {
        /// <summary>
        /// The program of the worker that runs the model, then its arguments. Without it the library looks beside itself, then for
        /// <c>OAM_WORKER</c>.
        /// </summary>
        public IEnumerable<string> Worker { get; set; }

        /// <summary>How many worker processes run at once.</summary>
        public int? Workers { get; set; }

        /// <summary>Whether one more worker is kept ready to take the place of one that dies.</summary>
        public bool? Spare { get; set; }

        /// <summary>When answers are streamed: <c>auto</c>, <c>always</c> or <c>never</c>.</summary>
        public string Streaming { get; set; }

        /// <summary>Seconds without progress after which a worker counts as hung.</summary>
        public double? StepTimeoutSeconds { get; set; }

        /// <summary>How many workers may die of one step before the step fails.</summary>
        public int? MaxStepCrashes { get; set; }

        /// <summary>How many sessions may exist at once.</summary>
        public int? MaxSessions { get; set; }

        /// <summary>Seconds to answer a tool call, unless session or tool say otherwise; 0 is no limit.</summary>
        public double? ToolTimeoutSeconds { get; set; }

        /// <summary>Further options by their names in the library's documentation.</summary>
        public IDictionary<string, object> Others { get; } = new Dictionary<string, object>();

        internal string ToJson()
        {
            var members = new Parameters
            {
                { "worker", Worker },
                { "workers", Workers },
                { "spare", Spare },
                { "streaming", Streaming },
                { "stepTimeoutSeconds", StepTimeoutSeconds },
                { "maxStepCrashes", MaxStepCrashes },
                { "maxSessions", MaxSessions },
                { "toolTimeoutSeconds", ToolTimeoutSeconds },
            };
            foreach (KeyValuePair<string, object> other in Others)
            {
                members[other.Key] = other.Value;
            }
            return Json.Serialize(members);
        }
    }
}
