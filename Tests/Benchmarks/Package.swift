// swift-tools-version: 6.2
import PackageDescription

/// Settings shared by every target: Swift 6 checking, existentials spelled out.
let settings: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .enableUpcomingFeature("ExistentialAny"),
]

/// The package that is measured.
let properations: Target.Dependency = .product(name: "Properations", package: "properations")

/// SwiftNIO's futures, the fastest comparison.
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
    // Without its traits: they count allocations in a way that falsifies times,
    // and need packages of their own.
    .package(url: "https://github.com/ordo-one/benchmark", from: "1.38.1", traits: []),
  ],
  targets: [
    // What is measured, ours and the peers', for both programs.
    .target(
      name: "Workloads", dependencies: [properations] + nio, swiftSettings: settings),
    .target(name: "AllocationCounter"),
    // One table: what the package promises, and whether it is so.
    .executableTarget(
      name: "budgets",
      dependencies: [
        "Workloads", "AllocationCounter", properations,
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ] + nio,
      path: "Sources/Budgets", swiftSettings: settings),
    // All cases, beside all peers. The plugin wants a target whose folder is in
    // a folder named `Benchmarks`, which this package's is.
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
