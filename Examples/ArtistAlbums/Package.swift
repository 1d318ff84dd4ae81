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
  name: "artist-albums",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "properations", path: "../.."),
    .package(url: "https://github.com/swhitty/FlyingFox", from: "0.27.1"),
  ],
  targets: [
    // What an application would have: the requests and what becomes of their answers.
    .target(name: "MusicCatalogue", dependencies: [properations], swiftSettings: settings),
    // The server on the loopback address.
    .target(
      name: "MusicServer",
      dependencies: [.product(name: "FlyingFox", package: "FlyingFox")],
      swiftSettings: settings),
    // A link to `Examples/Support`, which all examples share. It is no product of the root
    // package.
    .target(
      name: "ExampleSupport", dependencies: [properations], swiftSettings: settings),
    .executableTarget(
      name: "ArtistAlbums", dependencies: ["MusicCatalogue", "MusicServer", "ExampleSupport"],
      swiftSettings: settings),
    // Links to some files of `Tests/TestSupport`.
    .target(
      name: "TestSupport",
      dependencies: [
        properations, .product(name: "FuturesTestSupport", package: "properations"),
      ],
      path: "Tests/TestSupport", swiftSettings: settings),
    .testTarget(
      name: "ArtistAlbumsTests",
      dependencies: [
        "ArtistAlbums", "MusicCatalogue", "MusicServer", "TestSupport", "ExampleSupport",
        properations,
        .product(name: "FuturesTestSupport", package: "properations"),
      ],
      swiftSettings: settings),
  ]
)
