using System.Collections.Generic;

namespace OpenAppleModels
{
    /// <summary>What a bridge can be told when it is made. Whatever is left null has the library's default.</summary>
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

        /// <summary>Seconds that a worker may take for one step of the model.</summary>
        public double? StepTimeoutSeconds { get; set; }

        /// <summary>How many workers may die of one step before the step fails.</summary>
        public int? MaxStepCrashes { get; set; }

        /// <summary>Further options by their names in the library's documentation.</summary>
        public IDictionary<string, object> Others { get; } = new Dictionary<string, object>();

        internal string ToJson()
        {
            var members = new Parameters
            {
                { "worker", Worker },
                { "workers", Workers },
                { "spare", Spare },
                { "stepTimeoutSeconds", StepTimeoutSeconds },
                { "maxStepCrashes", MaxStepCrashes },
            };
            foreach (KeyValuePair<string, object> other in Others)
            {
                members[other.Key] = other.Value;
            }
            return Json.Serialize(members);
        }
    }
}
