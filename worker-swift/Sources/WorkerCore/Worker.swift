import WorkerProtocol

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// A worker on its connection.
///
/// From the moment it is made, its guard answers pings and notices the end of the connection, whatever else happens.
public final class Worker: Sendable {
    private let name: String
    private let version: String
    private let outbox: Outbox
    private let steps: StepTable
    private let endings: AsyncStream<Ending>

    /// Starts the threads that need no model.
    ///
    /// - Parameters:
    ///   - name: The program's name, for people.
    ///   - version: Its version, for people.
    ///   - settleTime: How long the model may go on with cancelled steps when nothing else runs. After that the worker ends as
    ///     ``Ending/modelIsStuck``, so that another can take its place.
    ///   - onEnd: Ends the process. Called from any thread, when nothing else matters any more.
    public init(
        name: String, version: String, connection: Connection, settleTime: Duration = .seconds(15),
        onEnd: @escaping @Sendable (Ending) -> Void
    ) {
        self.name = name
        self.version = version
        let (endings, ending) = AsyncStream<Ending>.makeStream()
        self.endings = endings
        let end: @Sendable (Ending) -> Void = {
            onEnd($0)
            ending.yield($0)
            ending.finish()
        }
        let outbox = Outbox(connection, onEnd: end)
        let steps = StepTable(outbox: outbox, settleTime: settleTime)
        self.outbox = outbox
        self.steps = steps
        startThread { end(Guard(connection: connection, outbox: outbox, steps: steps).watch()) }
    }

    /// Starts a worker that owns its process, on the connection of descriptor 0, or on a socket at `path`. The process ends
    /// with the worker; at once, if there is no connection.
    public static func start(name: String, version: String, connectTo path: String? = nil) -> Worker {
        do {
            let connection = try path.map(Connection.connected(to:)) ?? Connection.inherited()
            return Worker(name: name, version: version, connection: connection) { $0.exitProcess(name: name) }
        } catch {
            Ending.failedStart("\(error)").exitProcess(name: name)
        }
    }

    /// Makes the model ready, says so, and works until the end.
    ///
    /// - Returns: Why it ended, if the process has not.
    @discardableResult
    public func serve(_ makeRunner: (SupervisorLink) -> any StepRunner) async -> Ending {
        let runner = makeRunner(SupervisorLink(outbox: outbox))
        let preparation = await runner.prepare()
        for remark in preparation.remarks {
            outbox.log(remark.level, remark.message)
        }
        let ready = Ready(
            worker: WorkerInfo(name: name, version: version, pid: UInt32(getpid())),
            capabilities: preparation.capabilities,
            availability: await runner.availability())
        steps.open(runner, ready)
        return await endings.first { _ in true } ?? .connectionEnded
    }
}
