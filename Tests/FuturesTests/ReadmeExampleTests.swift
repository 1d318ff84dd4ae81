import Foundation
import Futures
import TestSupport
import Testing

/// The call sites of the design's sketch and of the seed's introduction, as
/// they stand there but for typos, and what they are said to do.
@Suite("The examples of the introduction", .timeLimit(.minutes(5)), .oneAtATime)
struct ReadmeExampleTests {
  // MARK: What is a future

  private func asynchronousMethod() -> Future<Bool> {
    let promise = Promises.make(promising: Bool.self)
    promise.succeed(with: true)
    return promise
  }

  @Test func `a future's result can be looked at`() {
    let future = asynchronousMethod()
    guard let result = future.result else {
      Issue.record("Future is not fulfilled.")
      return
    }
    switch result {
    case .success(let value): #expect(value)
    case .failure(let error): Issue.record(error)
    }
  }

  @Test func `a future's handlers can be chained, on the main actor`() async {
    let log = Log<String>()
    let future = asynchronousMethod()
      .onSuccess { value in
        MainActor.assertIsolated()
        log.append("Success! \(value)")
      }
      .onFailure { error in
        log.append("Failure! \(error)")
      }
    _ = await future.completion
    #expect(await eventually { log.count == 1 })
    #expect(log.entries == ["Success! true"])
  }

  // MARK: Wrapping a completion closure

  private enum DataFetchError: Error {
    case missingData
  }

  /// Stands for `URLSession`, whose Linux version reads no files.
  private struct URLSession: Sendable {
    static let shared = URLSession()

    struct Task {
      let resume: () -> Void
    }

    func dataTask(
      with url: URL, completionHandler: @escaping @Sendable (Data?, Int?, (any Error)?) -> Void
    ) -> Task {
      Task {
        DispatchQueue.global().async {
          do {
            completionHandler(try Data(contentsOf: url), 200, nil)
          } catch {
            completionHandler(nil, nil, error)
          }
        }
      }
    }
  }

  private func fetchData(from url: URL, using urlSession: URLSession = .shared) -> Future<Data> {
    let promise = Promises.make(promising: Data.self)
    let task = urlSession.dataTask(with: url) { data, response, error in
      do {
        if let error {
          throw error
        }
        guard let data else {
          throw DataFetchError.missingData
        }
        promise.succeed(with: data)
      } catch {
        promise.fail(with: error)
      }
    }
    task.resume()
    return promise
  }

  /// A file is as good as a server.
  private func file(_ text: String) throws -> URL {
    let url = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try Data(text.utf8).write(to: url)
    return url
  }

  @Test func `a wrapped data task gives its data, or its error`() async throws {
    let url = try file("hello")
    defer { try? FileManager.default.removeItem(at: url) }
    #expect(try await fetchData(from: url).value == Data("hello".utf8))
    let missing = URL(fileURLWithPath: "/nowhere/at/all")
    #expect(await fetchData(from: missing).completion.isFailure)
  }

  // MARK: Mapping values, a custom queue and recovery

  private struct Image: Sendable, Equatable {
    var text: String
    init?(data: Data) {
      guard let text = String(data: data, encoding: .utf8), !text.isEmpty else { return nil }
      self.text = text
    }
    init(_ text: String) { self.text = text }
  }

  private struct Unpaintable: Error {}

  private static func generateFauxPainting(from image: Image) throws -> Image {
    guard image.text != "blank" else { throw Unpaintable() }
    return Image("painted \(image.text)")
  }

  @MainActor private final class Profile {
    let imageProcessingQueue = OperationQueue()
    let defaultProfileImage = Image("default")
    var shown: Image?

    func updateProfileImage(_ data: Future<Data>) -> Future<Image> {
      data
        .compactMapToValue(on: imageProcessingQueue) { data in
          Image(data: data)
        }
        .mapToValue(on: imageProcessingQueue) { image in
          try generateFauxPainting(from: image)
        }
        .recover { _ in
          self.defaultProfileImage
        }
        .onSuccess {
          self.shown = $0
        }
    }
  }

  @MainActor @Test(arguments: [("face", "painted face"), ("", "default"), ("blank", "default")])
  func `the profile image is painted, or the default one is shown`(
    _ text: String, _ expected: String
  ) async throws {
    let url = try file(text)
    defer { try? FileManager.default.removeItem(at: url) }
    let profile = Profile()
    _ = await profile.updateProfileImage(fetchData(from: url)).completion
    #expect(await eventually { profile.shown == Image(expected) })
  }

  // MARK: Advanced mapping and combining

  private struct ArtistProfile: Codable, Sendable {
    let albumRefs: [URL]
  }

  private struct Album: Codable, Sendable, Equatable {
    let title: String
  }

  private func fetchArtistProfileAndAlbums(
    at artistURL: URL
  ) -> Future<(ArtistProfile, [Album])> {
    let artistProfileFuture = fetchData(from: artistURL)
      .mapToValue { try JSONDecoder().decode(ArtistProfile.self, from: $0) }

    let albumsFuture =
      artistProfileFuture
      .mapToValue { $0.albumRefs }
      .mapElementsToFuture { fetchData(from: $0) }
      .mapElementsToValue { try JSONDecoder().decode(Album.self, from: $0) }

    return Promises.combine(artistProfileFuture, albumsFuture)
  }

  @Test func `an artist and the albums come together, in the order of the profile`() async throws {
    let albums = try ["One", "Two", "Three"].map { try file("{\"title\": \"\($0)\"}") }
    let refs = albums.map { "\"\($0.absoluteString)\"" }.joined(separator: ", ")
    let artist = try file("{\"albumRefs\": [\(refs)]}")
    defer { for url in albums + [artist] { try? FileManager.default.removeItem(at: url) } }
    let (profile, titles) = try await fetchArtistProfileAndAlbums(at: artist).value
    #expect(profile.albumRefs == albums)
    #expect(titles.map(\.title) == ["One", "Two", "Three"])
  }

  @Test func `an artist whose profile cannot be read fails twice`() async throws {
    let artist = try file("not JSON")
    defer { try? FileManager.default.removeItem(at: artist) }
    let error = await fetchArtistProfileAndAlbums(at: artist).completion.failureValue
    guard case .multipleErrors(let errors)? = error as? ProperationsError else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(errors.count == 2)
    #expect(errors.allSatisfy { $0 is DecodingError })
  }

  // MARK: The sketch

  @MainActor private final class Model {
    var title = ""
    func load(_ future: Future<Int>) -> Future<String> {
      future
        .mapToValue(on: .global()) { $0 + 1 }
        .mapToValue(on: OperationQueue()) { "\($0)" }
        .mapToValue(on: .inline) { $0 + "!" }
        .onSuccess { self.title = $0 }
    }
  }

  @Test @MainActor func `a model needs no annotation to take its title from a chain`() async throws
  {
    let model = Model()
    let promise = Promise<Int>()
    let loaded = model.load(promise)
    promise.succeed(with: 1)
    #expect(try await loaded.value == "2!")
    #expect(await eventually { model.title == "2!" })
  }
}
