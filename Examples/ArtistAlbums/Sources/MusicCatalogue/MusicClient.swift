import Foundation
import Properations

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Fetches artists, albums and covers from a music service.
///
/// Cancelling a future of the client stops its requests.
public struct MusicClient: Sendable {
  /// The limits of a client.
  public struct Limits: Sendable {
    /// The largest number of albums, or of covers, that are fetched at a time.
    public var width = 4
    /// How long the client waits for one answer.
    public var patience: Duration = .seconds(1)
    /// How often one request is tried.
    public var attempts = 4
    /// How long all attempts of one request may take together, with the waits between
    /// them.
    public var deadline: Duration = .seconds(30)

    /// Makes the default limits.
    public init() {}
  }

  /// What the client has done so far.
  public let activity = Activity()
  private let limits: Limits
  private let policy: RetryPolicy
  private let session: URLSession

  /// Makes a client.
  ///
  /// - Parameters:
  ///   - limits: How many requests the client makes at a time, and how often and how long
  ///     it tries each.
  ///   - clock: Measures the waits between attempts; tests pass a clock of their own.
  public init(_ limits: Limits = Limits(), clock: any Clock<Duration> = ContinuousClock()) {
    self.limits = limits
    policy = RetryPolicy(
      attempts: limits.attempts, delay: .exponential(.milliseconds(100)), jitter: .full,
      deadline: limits.deadline, clock: clock, decide: { error, _ in Self.decide(after: error) })
    let configuration = URLSessionConfiguration.ephemeral
    configuration.httpMaximumConnectionsPerHost = limits.width
    // The client has a time limit of its own.
    configuration.timeoutIntervalForRequest = 86400
    session = URLSession(configuration: configuration)
  }

  /// The artist with all albums and covers.
  ///
  /// The albums are in the order of the profile. A cover that cannot be fetched is an
  /// entry with an error; any other failure fails the future.
  public func discography(at artist: URL) -> Future<Discography> {
    profileAndAlbums(at: artist).mapToFuture(on: .inline) { profile, albums in
      covers(of: albums).mapToValue(on: .inline) { covers in
        Discography(
          artist: profile.name,
          entries: zip(albums, covers).map { Discography.Entry(album: $0, cover: $1) })
      }
    }
  }

  /// The profile and all albums of an artist.
  func profileAndAlbums(at artist: URL) -> Future<(ArtistProfile, [Album])> {
    let profile = fetch(ArtistProfile.self, from: artist)
    let albums =
      profile
      .mapToValue(on: .inline) { $0.albumRefs.map { $0.resolved(against: artist) } }
      .onSuccess(on: .inline) { activity.albumsFound($0.count) }
      .mapElementsToFuture(on: .inline, maxConcurrent: limits.width) { album in
        fetch(Album.self, from: album).mapToValue(on: .inline) { $0.resolved(against: album) }
      }
    // Without the profile both fail, with the same error.
    return Promises.combine(profile, albums).mapError(on: .inline) { error in
      guard case ProperationsError.multipleErrors(let errors) = error else { return error }
      return errors.compactMap { $0 }.first ?? error
    }
  }

  /// The covers of albums, in the same order.
  func covers(of albums: [Album]) -> Future<[Result<Data, any Error>?]> {
    Promises.traverse(albums, on: .inline, maxConcurrent: limits.width) { album in
      guard let cover = album.coverRef else {
        activity.coverIsMissing()
        return Promises.makeSucceeded(with: nil)
      }
      return data(from: cover)
        .mapToValue(on: .inline) { .success($0) }
        .recover(on: .inline) { error in
          activity.coverIsMissing()
          return .failure(error)
        }
    }
  }

  private func fetch<Value: Decodable & Sendable>(
    _ type: Value.Type, from url: URL
  ) -> Future<Value> {
    data(from: url).mapToValue(on: .global()) { data in
      do { return try JSONDecoder().decode(type, from: data) } catch {
        throw MusicError.garbled(url)
      }
    }
  }

  private func data(from url: URL) -> Future<Data> {
    Promises.retry(policy, on: .inline) { attempt in
      activity.requestStarts(isRetry: attempt > 1)
      return answer(from: url).always(on: .inline) { activity.requestEnds() }
    }
    .onSuccess(on: .inline) { activity.received($0.count) }
  }

  /// The answer to one request; a status other than 200 is an error.
  private func answer(from url: URL) -> Future<Data> {
    session.dataFuture(from: url)
      .timeout(after: limits.patience)
      .mapToValue(on: .inline) { (data: Data, response: URLResponse) in
        guard let response = response as? HTTPURLResponse, response.statusCode == 200 else {
          throw MusicError.refused(url, response as? HTTPURLResponse)
        }
        return data
      }
      .mapError(on: .inline) { error in
        switch error {
        case is URLError: MusicError.unreachable(url)
        case ProperationsError.timedOut(let limit): MusicError.silent(url, after: limit)
        default: error
        }
      }
  }

  /// Tries again if the trouble may pass, and not before the time that the server asks
  /// for.
  private static func decide(after error: any Error) -> RetryPolicy.Decision {
    switch error {
    case MusicError.busy(_, _, let delay?): .retry(after: delay)
    case MusicError.busy, MusicError.unreachable, MusicError.silent: .retry
    default: .stop
    }
  }
}

extension URL {
  fileprivate func resolved(against base: URL) -> URL {
    URL(string: relativeString, relativeTo: base)?.absoluteURL ?? self
  }
}

extension Album {
  fileprivate func resolved(against base: URL) -> Album {
    Album(title: title, year: year, coverRef: coverRef?.resolved(against: base))
  }
}
