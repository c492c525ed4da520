// swift-tools-version: 6.0

// The Swift worker, which asks Apple's models. It has no dependencies; docs/IPC.md is what it speaks.

import PackageDescription

let sources = "worker-swift/Sources"
let tests = "worker-swift/Tests"

// What everybody can build.
var products: [Product] = [
    .executable(name: "oam-worker-swift", targets: ["oam-worker-swift"]),
    .library(name: "WorkerProtocol", targets: ["WorkerProtocol"]),
    .library(name: "WorkerCore", targets: ["WorkerCore"]),
]

var targets: [Target] = [
    .target(
        name: "WorkerProtocol", path: "\(sources)/WorkerProtocol",
        // Swift's own library needs it, and not every Linux linker follows it there.
        linkerSettings: [.linkedLibrary("m", .when(platforms: [.linux]))]),
    .target(name: "WorkerCore", dependencies: ["WorkerProtocol"], path: "\(sources)/WorkerCore"),
    .testTarget(
        name: "WorkerProtocolTests", dependencies: ["WorkerProtocol"], path: "\(tests)/WorkerProtocolTests"),
    .testTarget(name: "WorkerCoreTests", dependencies: ["WorkerCore"], path: "\(tests)/WorkerCoreTests"),
]

// What answers: the targets behind `StepRunner`.
let backends: [Target] = []
let backendNames: [Target.Dependency] = []

targets += backends
targets.append(
    .executableTarget(
        name: "oam-worker-swift",
        dependencies: ["WorkerCore", "WorkerProtocol"] + backendNames,
        path: "\(sources)/oam-worker-swift"))
targets.append(
    .testTarget(
        name: "ProgramTests", dependencies: ["WorkerProtocol", "oam-worker-swift"], path: "\(tests)/ProgramTests"))

let package = Package(
    name: "oam-worker-swift",
    platforms: [.macOS("26.0")],
    products: products,
    targets: targets,
    swiftLanguageModes: [.v6]
)
