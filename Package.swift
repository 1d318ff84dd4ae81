// swift-tools-version: 6.2
import PackageDescription

/// The settings of every target: Swift 6 mode, with existential types spelled out.
let settings: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .enableUpcomingFeature("ExistentialAny"),
]

/// A library target in `Sources`.
func module(_ name: String, needs dependencies: [Target.Dependency] = []) -> Target {
  .target(name: name, dependencies: dependencies, swiftSettings: settings)
}

/// A Swift Testing target in `Tests`.
func tests(_ name: String, of dependencies: [Target.Dependency]) -> Target {
  .testTarget(
    name: name, dependencies: dependencies + ["TestSupport"], swiftSettings: settings)
}

let package = Package(
  name: "Properations",
  // `Synchronization.Mutex` and `Atomic` require these versions.
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
  products: [
    .library(name: "Futures", targets: ["Futures"]),
    .library(name: "OperationBridge", targets: ["OperationBridge"]),
    .library(name: "TypedTasks", targets: ["TypedTasks"]),
    .library(name: "Workflows", targets: ["Workflows"]),
    .library(name: "Properations", targets: ["Properations"]),
    .library(name: "FuturesTestSupport", targets: ["FuturesTestSupport"]),
  ],
  targets: [
    module("Futures"),
    module("OperationBridge", needs: ["Futures"]),
    module("TypedTasks", needs: ["Futures", "OperationBridge"]),
    module("Workflows", needs: ["Futures"]),
    // All modules in one import.
    module("Properations", needs: ["Futures", "OperationBridge", "TypedTasks", "Workflows"]),
    // For the tests of programs that use the package. It imports no test framework.
    module("FuturesTestSupport", needs: ["Futures"]),
    .target(
      name: "TestSupport", dependencies: ["Futures", "FuturesTestSupport", "Workflows"],
      path: "Tests/TestSupport", swiftSettings: settings),
    tests("TestSupportTests", of: []),
    tests("FuturesTestSupportTests", of: ["Futures", "FuturesTestSupport"]),
    tests("FuturesTests", of: ["Futures"]),
    tests("OperationBridgeTests", of: ["Futures", "OperationBridge"]),
    tests("TypedTasksTests", of: ["TypedTasks"]),
    tests("WorkflowsTests", of: ["Futures", "TypedTasks", "Workflows"]),
    tests("StressTests", of: ["Properations", "FuturesTestSupport"]),
    .target(
      name: "ExampleSupport", dependencies: ["Properations"], path: "Examples/Support",
      swiftSettings: settings),
    // The tests start the programs. As dependencies the programs are built before.
    tests(
      "ExampleSupportTests",
      of: ["ExampleSupport", "BuildGraph", "DuplicateFinder", "MediaIngest", "OrderWorkflow"]),
    .executableTarget(
      name: "DuplicateFinder", dependencies: ["Properations", "ExampleSupport"],
      path: "Examples/DuplicateFinder", swiftSettings: settings),
    tests("DuplicateFinderTests", of: ["DuplicateFinder", "ExampleSupport"]),
    .executableTarget(
      name: "MediaIngest", dependencies: ["Properations", "ExampleSupport"],
      path: "Examples/MediaIngest", swiftSettings: settings),
    tests("MediaIngestTests", of: ["MediaIngest", "ExampleSupport"]),
    .executableTarget(
      name: "OrderWorkflow", dependencies: ["Properations", "ExampleSupport"],
      path: "Examples/OrderWorkflow", swiftSettings: settings),
    tests("OrderWorkflowTests", of: ["OrderWorkflow", "ExampleSupport"]),
    .executableTarget(
      name: "BuildGraph", dependencies: ["Properations", "ExampleSupport"],
      path: "Examples/BuildGraph", exclude: ["Demo"], swiftSettings: settings),
    tests("BuildGraphTests", of: ["BuildGraph", "ExampleSupport"]),
    tests("DocumentationTests", of: ["Properations", "FuturesTestSupport"]),
    // The main thread of this program serves a run loop; that of the test runner does
    // not.
    .executableTarget(
      name: "NestedRunLoops", dependencies: ["Properations"], path: "Tests/NestedRunLoops",
      swiftSettings: settings),
    tests("NestedRunLoopTests", of: ["NestedRunLoops"]),
  ]
)

// The scripts in `.ci` also build for release and for sanitizers, and run only some of
// the tests there. Building all targets would take longer than running those tests.
if let chosen = Context.environment["PROPERATIONS_TEST_TARGETS"]?.split(separator: ",") {
  // A test target may start a program that is no example.
  let started = package.targets.filter { chosen.contains(Substring($0.name)) }
    .flatMap(\.dependencies)
  package.targets.removeAll { target in
    switch target.type {
    case .executable:
      !started.contains {
        if case .byNameItem(target.name, _) = $0 { true } else { false }
      }
    case .test: !chosen.contains(Substring(target.name))
    default: false
    }
  }
}
