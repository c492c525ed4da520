// Noticing that the model can be used now, or cannot any more: somebody switched it on or off, or its download is done.

import FoundationModels
import WorkerCore
import WorkerProtocol

/// What was told of the availability, and whether that has changed.
struct AvailabilityWatch {
    /// How often the system is asked, which costs it next to nothing.
    private static let period = Duration.seconds(5)

    private(set) var last: Availability

    /// What is to be told now, if anything.
    mutating func news(_ now: Availability) -> Availability? {
        guard now != last else { return nil }
        last = now
        return now
    }

    /// Tells the supervisor of changes, for the rest of the life of the process.
    static func begin(_ model: SystemLanguageModel, _ supervisor: SupervisorLink) {
        let told = Availability(model)
        Task(priority: .utility) {
            var watch = AvailabilityWatch(last: told)
            while true {
                try await Task.sleep(for: period, tolerance: period / 2)
                if let news = watch.news(Availability(model)) { supervisor.announce(news) }
            }
        }
    }
}
