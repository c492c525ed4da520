import WorkerCore

// First of all, so that the end of the connection is noticed while everything else still loads.
let arguments = Arguments(CommandLine.arguments)
switch arguments.task {
case .work(let path):
    let worker = Worker.start(name: Program.name, version: Program.version, connectTo: path)
    await worker.serve(makeRunner)
case .examine(let soakSteps):
    await examine(soakSteps: soakSteps)
}
