import Foundation
import FoundationModelsBackend
import WorkerCore

/// The model that this program asks.
func makeRunner(_ supervisor: SupervisorLink) -> any StepRunner {
    FoundationModelsBackend(supervisor: supervisor)
}

/// Examines the model of this system, and prints what it finds.
func examine(soakSteps: Int) async {
    await Examination(soakSteps: soakSteps) { line in
        // Without a buffer, so that the lines before a crash are there.
        FileHandle.standardOutput.write(Data("\(line)\n".utf8))
    }.run()
}
