// swift-tools-version: 6.2
import PackageDescription

/// The settings of every target: Swift 6 mode, with existential types spelled out.
let settings: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .enableUpcomingFeature("ExistentialAny"),
]

/// The package that the targets connect with other libraries.
let properations: Target.Dependency = .product(name: "Properations", package: "properations")

/// The products of the other packages.
let nioCore: Target.Dependency = .product(name: "NIOCore", package: "swift-nio")
let nioPosix: Target.Dependency = .product(name: "NIOPosix", package: "swift-nio")
let nioEmbedded: Target.Dependency = .product(name: "NIOEmbedded", package: "swift-nio")
let nioHTTP: Target.Dependency = .product(name: "NIOHTTP1", package: "swift-nio")
let httpClient: Target.Dependency = .product(
  name: "AsyncHTTPClient", package: "async-http-client")
let openCombine: Target.Dependency = .product(name: "OpenCombine", package: "OpenCombine")
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")
let inMemoryLogging: Target.Dependency = .product(
  name: "InMemoryLogging", package: "swift-log")
let metrics: Target.Dependency = .product(name: "Metrics", package: "swift-metrics")
let metricsTestKit: Target.Dependency = .product(name: "MetricsTestKit", package: "swift-metrics")
let tracing: Target.Dependency = .product(name: "Tracing", package: "swift-distributed-tracing")
let inMemoryTracing: Target.Dependency = .product(
  name: "InMemoryTracing", package: "swift-distributed-tracing")
let serviceLifecycle: Target.Dependency = .product(
  name: "ServiceLifecycle", package: "swift-service-lifecycle")
let grdb: Target.Dependency = .product(name: "GRDB", package: "GRDB.swift")

/// A library that connects Properations with another package, and its tests.
func bridge(
  _ name: String, to dependencies: [Target.Dependency],
  testedWith testDependencies: [Target.Dependency] = [], flags: [SwiftSetting] = []
) -> [Target] {
  [
    .target(
      name: name, dependencies: [properations] + dependencies, swiftSettings: settings + flags),
    .testTarget(
      name: name + "Tests",
      dependencies: [.target(name: name), "TestSupport", properations]
        + [.product(name: "FuturesTestSupport", package: "properations")]
        + dependencies + testDependencies,
      swiftSettings: settings),
  ]
}

let package = Package(
  name: "interoperation",
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
  products: [
    .library(name: "ProperationsNIO", targets: ["ProperationsNIO"]),
    .library(name: "ProperationsObservability", targets: ["ProperationsObservability"]),
    .library(name: "ProperationsServiceLifecycle", targets: ["ProperationsServiceLifecycle"]),
    .library(name: "ProperationsHTTPClient", targets: ["ProperationsHTTPClient"]),
    .library(name: "ProperationsOpenCombine", targets: ["ProperationsOpenCombine"]),
    .library(name: "ProperationsGRDB", targets: ["ProperationsGRDB"]),
  ],
  dependencies: [
    .package(name: "properations", path: "../.."),
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
    .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
    .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.0"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
    .package(url: "https://github.com/OpenCombine/OpenCombine", from: "0.14.0"),
    .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
  ],
  targets: [
    // Links to some files of `Tests/TestSupport` of the root package.
    .target(
      name: "TestSupport",
      dependencies: [
        properations, .product(name: "FuturesTestSupport", package: "properations"),
      ],
      path: "Tests/TestSupport", swiftSettings: settings),
    // Compares the examples of the pages with the tests.
    .testTarget(name: "PagesTests", swiftSettings: settings),
  ]
    + bridge("ProperationsNIO", to: [nioCore], testedWith: [nioPosix, nioEmbedded])
    + bridge(
      "ProperationsObservability", to: [logging, metrics, tracing],
      testedWith: [metricsTestKit, inMemoryTracing, inMemoryLogging])
    + bridge(
      "ProperationsServiceLifecycle", to: [serviceLifecycle, logging],
      testedWith: [inMemoryLogging])
    + bridge(
      "ProperationsHTTPClient", to: [httpClient, nioCore], testedWith: [nioPosix, nioHTTP])
    // A link to the library's own file for Combine, with OpenCombine in its place.
    + bridge(
      "ProperationsOpenCombine", to: [openCombine], flags: [.define("PROPERATIONS_OPENCOMBINE")])
    + bridge("ProperationsGRDB", to: [grdb])
)

// AsyncHTTPClient brings TLS and certificates, which take most of the build. `.ci/run` leaves it
// to the nightly workflow.
if Context.environment["PROPERATIONS_INTEROPERATION"] == "quick" {
  package.targets.removeAll { $0.name.hasPrefix("ProperationsHTTPClient") }
  package.products.removeAll { $0.name == "ProperationsHTTPClient" }
  package.dependencies.removeAll { dependency in
    guard case .sourceControl(_, let location, _) = dependency.kind else { return false }
    return location.hasSuffix("/async-http-client")
  }
}
