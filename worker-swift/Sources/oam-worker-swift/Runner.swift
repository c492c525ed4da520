import FoundationModelsBackend
import WorkerCore

/// The model that this program asks.
func makeRunner(_ supervisor: SupervisorLink) -> any StepRunner {
    FoundationModelsBackend(supervisor: supervisor)
}
