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
var backends: [Target] = []
let backendNames: [Target.Dependency] = ["FoundationModelsBackend"]

// Apple's framework is on Macs only. Elsewhere a module of the same name stands in for it, so that the code that uses it
// compiles, and runs in tests: see worker-swift/StandIn.
#if os(macOS)
let framework: [Target.Dependency] = []
let standIn: [SwiftSetting] = []
#else
let framework: [Target.Dependency] = ["FoundationModels"]
let standIn: [SwiftSetting] = [.define("OAM_STANDIN")]
backends.append(
    .target(
        name: "FoundationModels", path: "worker-swift/StandIn/FoundationModels",
        swiftSettings: [
            // As Apple's is built: enums that may grow, structs that only its own code can look into. The warnings are
            // about Foundation, which is not built like this here.
            .unsafeFlags(["-enable-library-evolution", "-suppress-warnings"])
        ]))
#endif

backends += [
    .target(
        name: "FoundationModelsBackend", dependencies: ["WorkerCore", "WorkerProtocol"] + framework,
        path: "\(sources)/FoundationModelsBackend"),
    .testTarget(
        name: "FoundationModelsBackendTests", dependencies: ["FoundationModelsBackend", "WorkerProtocol"] + framework,
        path: "\(tests)/FoundationModelsBackendTests", swiftSettings: standIn),
]

targets += backends
targets.append(
    .executableTarget(
        name: "oam-worker-swift",
        dependencies: ["WorkerCore", "WorkerProtocol"] + backendNames,
        path: "\(sources)/oam-worker-swift"))
targets.append(
    .testTarget(
        name: "ProgramTests", dependencies: ["WorkerProtocol", "oam-worker-swift"], path: "\(tests)/ProgramTests",
        swiftSettings: standIn))

let package = Package(
    name: "oam-worker-swift",
    platforms: [.macOS("26.0")],
    products: products,
    targets: targets,
    swiftLanguageModes: [.v6]
)
