import WorkerCore

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// What this program calls itself.
enum Program {
    static let name = "oam-worker-swift"
    static let version = "0.1.0"
}

/// What can be said on the command line.
struct Arguments {
    /// What the program is to do.
    enum Task {
        /// Work on the connection of descriptor 0, or on the Unix socket at a path.
        case work(connect: String?)
        /// Ask the model of this system and print what is found, with so many steps in the end.
        case examine(soakSteps: Int)
    }

    let task: Task

    private static let help = """
        \(Program.name): a worker of oam that asks Apple's on-device model.

        It is started by a supervisor, which hands over a connected Unix socket as descriptor 0 (docs/IPC.md).

          --connect PATH    connect to the Unix socket at this path instead
          --examine STEPS   ask the model of this system, and print what is found; with so many steps in the end
          --version         print the version
          --help            print this
        """

    /// Reads the arguments, of which the first is the name of the program. Ends the process where they ask for nothing else, or
    /// cannot be understood.
    init(_ arguments: [String]) {
        var rest = arguments.dropFirst()
        var connect: String?
        var soakSteps: Int?
        while let argument = rest.popFirst() {
            switch argument {
            case "--connect":
                guard let path = rest.popFirst() else { Self.fail("--connect needs a path") }
                connect = path
            case "--examine":
                guard let count = rest.popFirst().flatMap({ Int($0) }), count >= 0 else {
                    Self.fail("--examine needs a number of steps, 0 or more")
                }
                soakSteps = count
            case "--version":
                print("\(Program.name) \(Program.version)")
                exit(0)
            case "--help":
                print(Self.help)
                exit(0)
            default: Self.fail("there is no argument '\(argument)'; --help lists them")
            }
        }
        task = soakSteps.map(Task.examine) ?? .work(connect: connect)
    }

    private static func fail(_ reason: String) -> Never {
        Ending.failedStart(reason).exitProcess(name: Program.name)
    }
}
