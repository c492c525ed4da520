// swift-tools-version: 6.0

// The Swift worker, which asks Apple's models. It has no dependencies; docs/IPC.md is what it speaks.

import PackageDescription

let sources = "worker-swift/Sources"
let tests = "worker-swift/Tests"

// Apple's framework is on Macs only. Elsewhere a module of the same name stands in for it, so that the code that uses it
// compiles, and runs in tests: see worker-swift/StandIn.
#if os(macOS)
let framework: [Target.Dependency] = []
let standIn: [SwiftSetting] = []
let standInTargets: [Target] = []
#else
let framework: [Target.Dependency] = ["FoundationModels"]
let standIn: [SwiftSetting] = [.define("OAM_STANDIN")]
let standInTargets: [Target] = [
    .target(
        name: "FoundationModels", path: "worker-swift/StandIn/FoundationModels",
        swiftSettings: [
            // As Apple's is built: enums that may grow, structs that only its own code can look into. The warnings are
            // about Foundation, which is not built like this here.
            .unsafeFlags(["-enable-library-evolution", "-suppress-warnings"])
        ])
]
#endif

let package = Package(
    name: "oam-worker-swift",
    platforms: [.macOS("26.0")],
    products: [
        .executable(name: "oam-worker-swift", targets: ["oam-worker-swift"]),
        .library(name: "WorkerProtocol", targets: ["WorkerProtocol"]),
        .library(name: "WorkerCore", targets: ["WorkerCore"]),
        .library(name: "FoundationModelsBackend", targets: ["FoundationModelsBackend"]),
    ],
    targets: standInTargets + [
        .target(
            name: "WorkerProtocol", path: "\(sources)/WorkerProtocol",
            // Swift's own library needs it, and not every Linux linker follows it there.
            linkerSettings: [.linkedLibrary("m", .when(platforms: [.linux]))]),
        .target(name: "WorkerCore", dependencies: ["WorkerProtocol"], path: "\(sources)/WorkerCore"),
        .target(
            name: "FoundationModelsBackend", dependencies: ["WorkerCore", "WorkerProtocol"] + framework,
            path: "\(sources)/FoundationModelsBackend"),
        .executableTarget(
            name: "oam-worker-swift", dependencies: ["FoundationModelsBackend", "WorkerCore"],
            path: "\(sources)/oam-worker-swift"),
        .testTarget(
            name: "WorkerProtocolTests", dependencies: ["WorkerProtocol"], path: "\(tests)/WorkerProtocolTests"),
        .testTarget(
            name: "WorkerCoreTests", dependencies: ["WorkerCore", "WorkerProtocol"], path: "\(tests)/WorkerCoreTests"),
        .testTarget(
            name: "FoundationModelsBackendTests",
            dependencies: ["FoundationModelsBackend", "WorkerCore", "WorkerProtocol"] + framework,
            path: "\(tests)/FoundationModelsBackendTests", swiftSettings: standIn),
        .testTarget(
            name: "ProgramTests", dependencies: ["WorkerProtocol", "oam-worker-swift"], path: "\(tests)/ProgramTests",
            swiftSettings: standIn),
    ],
    swiftLanguageModes: [.v6]
)
