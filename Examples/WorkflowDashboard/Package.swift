// swift-tools-version: 6.2
import PackageDescription

/// The settings of every target: Swift 6 mode, with existential types spelled out.
let settings: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .enableUpcomingFeature("ExistentialAny"),
]

/// The package that the example shows.
let properations: Target.Dependency = .product(name: "Properations", package: "properations")

let package = Package(
  name: "workflow-dashboard",
  platforms: [.macOS(.v15)],
  products: [.library(name: "WorkflowWeb", targets: ["WorkflowWeb"])],
  dependencies: [
    .package(name: "properations", path: "../.."),
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
  ],
  targets: [
    // What an application uses: a server, and a page that shows workflows.
    .target(
      name: "WorkflowWeb",
      dependencies: [
        "ExampleSupport", properations,
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
      ],
      resources: [.copy("Page")], swiftSettings: settings),
    // A link to `Examples/Support`, which all examples share. It is no product of the root
    // package.
    .target(
      name: "ExampleSupport", dependencies: [properations], swiftSettings: settings),
    // Links to the workflow of `Examples/OrderWorkflow`.
    .target(
      name: "Orders", dependencies: [properations, "ExampleSupport"], swiftSettings: settings),
    // Links to the parts of `Examples/BuildGraph` that plan and run a build.
    .target(
      name: "Builds", dependencies: [properations, "ExampleSupport"], swiftSettings: settings),
    .executableTarget(
      name: "WorkflowDashboard",
      dependencies: ["WorkflowWeb", "Orders", "Builds", "ExampleSupport", properations],
      swiftSettings: settings),
    // Links to some files of `Tests/TestSupport`.
    .target(
      name: "TestSupport",
      dependencies: [
        properations, .product(name: "FuturesTestSupport", package: "properations"),
      ],
      path: "Tests/TestSupport", swiftSettings: settings),
    .testTarget(
      name: "WorkflowWebTests",
      dependencies: [
        "WorkflowWeb", "WorkflowDashboard", "TestSupport", properations,
      ],
      swiftSettings: settings),
  ]
)
