import Foundation
import Futures
import OperationBridge
import TestSupport
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The examples of the project's first text, against a server.
@Suite("The examples with a URL session", .timeLimit(.minutes(5)), .oneAtATime)
struct SeedExampleTests {
  struct ArtistProfile: Codable, Equatable {
    let name: String
    let albumRefs: [URL]
  }

  struct Album: Codable, Equatable { let title: String }

  /// In the place of an image.
  struct Image: Equatable, Sendable {
    var text: String
    init(text: String) { self.text = text }
    init?(data: Data) {
      guard let text = String(data: data, encoding: .utf8), text.hasPrefix("image:") else {
        return nil
      }
      self.text = text
    }
  }

  enum DataFetchError: Error { case missingData }

  /// The completion handler of a data task, wrapped by hand.
  static func fetchData(from url: URL, using urlSession: URLSession = .shared) -> Future<Data> {
    let promise = Promises.make(promising: Data.self)
    let task = urlSession.dataTask(with: url) { data, _, error in
      do {
        if let error { throw error }
        guard let data else { throw DataFetchError.missingData }
        promise.succeed(with: data)
      } catch {
        promise.fail(with: error)
      }
    }
    task.resume()
    return promise
  }

  @MainActor
  final class ProfileView {
    let imageProcessingQueue = OperationQueue()
    let defaultProfileImage = Image(text: "default")
    var image: Image?

    func updateProfileImage(at url: URL) -> Future<Image> {
      SeedExampleTests.fetchData(from: url)
        .compactMapToValue(on: imageProcessingQueue) { data in Image(data: data) }
        .mapToValue(on: imageProcessingQueue) { image in
          if image.text == "image:bad" { throw Oops() }
          return Image(text: image.text + " painted")
        }
        .recover { _ in self.defaultProfileImage }
        .onSuccess { self.image = $0 }
    }
  }

  @Test(
    "The profile image: painted, or the default for no image, one that cannot be painted, no page",
    arguments: [
      ("/good", "image:me painted"), ("/bad", "default"), ("/text", "default"),
      ("/reset", "default"),
    ])
  @MainActor
  func profileImage(path: String, expected: String) async throws {
    let server = try LocalServer(pages: [
      "/good": Data("image:me".utf8), "/bad": Data("image:bad".utf8), "/text": Data("text".utf8),
    ])
    defer { server.stop() }
    let view = ProfileView()
    #expect(try await view.updateProfileImage(at: server.url(path)).value.text == expected)
    #expect(await eventually { view.image?.text == expected })
  }

  private static func fetchArtistProfileAndAlbums(
    at url: URL
  ) -> Future<(ArtistProfile, [Album])> {
    let artistProfileFuture = fetchData(from: url)
      .mapToValue { try JSONDecoder().decode(ArtistProfile.self, from: $0) }
    let albumsFuture =
      artistProfileFuture
      .mapToValue { $0.albumRefs }
      .mapElementsToFuture { fetchData(from: $0) }
      .mapElementsToValue { try JSONDecoder().decode(Album.self, from: $0) }
    return Promises.combine(artistProfileFuture, albumsFuture)
  }

  @Test("Artist and albums: the profile, and its albums in order")
  func artistAndAlbums() async throws {
    let pages = Protected<[String: Data]>([:])
    let albums = (0..<5).map { Album(title: "Album \($0)") }
    for (index, album) in albums.enumerated() {
      let data = try JSONEncoder().encode(album)
      pages.change { $0["/album/\(index)"] = data }
    }
    let albumServer = try LocalServer(pages: pages.value)
    defer { albumServer.stop() }
    let profile = ArtistProfile(
      name: "Nina", albumRefs: (0..<5).map { albumServer.url("/album/\($0)") })
    let server = try LocalServer(pages: ["/artist": JSONEncoder().encode(profile)])
    defer { server.stop() }
    let result = try await Self.fetchArtistProfileAndAlbums(at: server.url("/artist")).value
    #expect(result.0 == profile)
    #expect(result.1 == albums)
  }

  @Test("Artist with an album that is no JSON: fails at the albums' place only")
  func brokenAlbum() async throws {
    let server = try LocalServer(pages: ["/album": Data("not json".utf8)])
    defer { server.stop() }
    let profile = ArtistProfile(name: "Nina", albumRefs: [server.url("/album")])
    let artists = try LocalServer(pages: ["/artist": JSONEncoder().encode(profile)])
    defer { artists.stop() }
    let error =
      await Self.fetchArtistProfileAndAlbums(at: artists.url("/artist")).completion
      .failureValue as? ProperationsError
    guard case .multipleErrors(let errors)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(errors.count == 2)
    #expect(errors[0] == nil)
    #expect(errors[1] is DecodingError)
  }
}
