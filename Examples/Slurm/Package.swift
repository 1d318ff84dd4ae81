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
  name: "slurm",
  platforms: [.macOS(.v15)],
  products: [.library(name: "SlurmTasks", targets: ["SlurmTasks"])],
  dependencies: [.package(name: "properations", path: "../..")],
  targets: [
    // Tasks of workflows whose commands run on a cluster.
    .target(
      name: "SlurmTasks", dependencies: ["ExampleSupport", properations],
      swiftSettings: settings),
    // A link to `Examples/Support`, which all examples share. It is no product of the root
    // package.
    .target(name: "ExampleSupport", dependencies: [properations], swiftSettings: settings),
    .executableTarget(
      name: "slurm-demo", dependencies: ["SlurmTasks", "ExampleSupport", properations],
      swiftSettings: settings),
    // Links to some files of `Tests/TestSupport`.
    .target(
      name: "TestSupport",
      dependencies: [
        properations, .product(name: "FuturesTestSupport", package: "properations"),
      ],
      path: "Tests/TestSupport", swiftSettings: settings),
    .testTarget(
      name: "SlurmTasksTests",
      dependencies: [
        "SlurmTasks", "slurm-demo", "TestSupport", properations,
        .product(name: "FuturesTestSupport", package: "properations"),
      ],
      swiftSettings: settings),
  ]
)
