import WorkerCore

// First of all, so that the end of the connection is noticed while everything else still loads.
let arguments = Arguments(CommandLine.arguments)
let worker = Worker.start(name: Program.name, version: Program.version, connectTo: arguments.connect)
await worker.serve(makeRunner)
