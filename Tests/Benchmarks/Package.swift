// swift-tools-version: 6.2
import PackageDescription

/// The settings of every target: Swift 6 mode, with existential types spelled out.
let settings: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .enableUpcomingFeature("ExistentialAny"),
]

/// The measured package.
let properations: Target.Dependency = .product(name: "Properations", package: "properations")

/// SwiftNIO's futures, the fastest peer.
let nio: [Target.Dependency] = [
  .product(name: "NIOCore", package: "swift-nio"),
  .product(name: "NIOPosix", package: "swift-nio"),
]

let package = Package(
  name: "properations-benchmarks",
  platforms: [.macOS(.v15)],
  products: [.executable(name: "budgets", targets: ["budgets"])],
  dependencies: [
    .package(name: "properations", path: "../.."),
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
    .package(url: "https://github.com/apple/swift-async-algorithms", from: "1.1.4"),
    .package(url: "https://github.com/OpenCombine/OpenCombine", from: "0.14.0"),
    // Without its traits, which count allocations in a way that distorts times, and which
    // need further packages.
    .package(url: "https://github.com/ordo-one/benchmark", from: "1.38.1", traits: []),
  ],
  targets: [
    // The measured work, of this package and of the peers, for both programs.
    .target(
      name: "Workloads", dependencies: [properations] + nio, swiftSettings: settings),
    .target(name: "AllocationCounter"),
    // Prints one table: each promise of the package, and whether it is kept.
    .executableTarget(
      name: "budgets",
      dependencies: [
        "Workloads", "AllocationCounter", properations,
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ] + nio,
      path: "Sources/Budgets", swiftSettings: settings),
    // All cases with all peers. The plugin requires the target's folder to be in a folder
    // named `Benchmarks`; the folder of this package has that name.
    .executableTarget(
      name: "PeerComparison",
      dependencies: [
        "Workloads", properations,
        .product(name: "Benchmark", package: "benchmark"),
        .product(name: "OpenCombine", package: "OpenCombine"),
        .product(name: "OpenCombineDispatch", package: "OpenCombine"),
        .product(name: "AsyncAlgorithms", package: "swift-async-algorithms"),
      ] + nio,
      path: "PeerComparison", swiftSettings: settings,
      plugins: [.plugin(name: "BenchmarkPlugin", package: "benchmark")]),
  ]
)
