import Foundation
import FuturesTestSupport
import MusicServer
import Properations
import TestSupport
import Testing

@testable import MusicCatalogue

/// The client against a real server on the loopback address.
@Suite("The client of the music service", .timeLimit(.minutes(5)))
struct MusicClientTests {
  typealias Documents = [String: MusicServer.Document]

  /// An artist with some albums, each with a cover.
  private static func artist(albums count: Int) -> Documents {
    var documents: Documents = [:]
    let refs = (0..<count).map { "\"../albums/\($0)\"" }.joined(separator: ",")
    documents["/artists/1"] = .init("{\"name\": \"The Artist\", \"albumRefs\": [\(refs)]}")
    for index in 0..<count {
      documents["/albums/\(index)"] = .init(
        "{\"title\": \"T\(index)\", \"year\": \(2000 + index), \"coverRef\": \"/covers/\(index)\"}")
      documents["/covers/\(index)"] = .init(type: "image/svg+xml", "cover \(index)")
    }
    return documents
  }

  /// Runs a test with a server and a client.
  private func withServer(
    _ documents: Documents = artist(albums: 3), faults: [String: [MusicServer.Fault]] = [:],
    delay: Duration = .zero, limits: MusicClient.Limits = .test,
    clock: any Clock<Duration> = ContinuousClock(),
    _ body: (_ server: MusicServer, _ client: MusicClient, _ artist: URL) async throws -> Void
  ) async throws {
    let server = try await MusicServer(documents, faults: faults, delay: delay)
    let artist = server.url.appendingPathComponent("artists/1")
    do { try await body(server, MusicClient(limits, clock: clock), artist) } catch {
      await server.stop()
      throw error
    }
    await server.stop()
  }

  @Test("Albums and covers come in the order of the profile, each fetched once")
  func everything() async throws {
    try await withServer(Self.artist(albums: 12)) { server, client, artist in
      let found = try await client.discography(at: artist).value
      #expect(found.artist == "The Artist")
      #expect(found.entries.map(\.album.title) == (0..<12).map { "T\($0)" })
      #expect(found.entries.map(\.album.year) == (0..<12).map { 2000 + $0 })
      let covers = try found.entries.map { try $0.cover?.get() }
      #expect(covers == (0..<12).map { Data("cover \($0)".utf8) })
      #expect(await server.requests.count == 25)
      #expect(client.activity.soFar.retries == 0)
    }
  }

  @Test("Never are more requests under way than the width allows", arguments: [1, 3])
  func bounded(width: Int) async throws {
    var limits = MusicClient.Limits.test
    limits.width = width
    try await withServer(
      Self.artist(albums: 10), delay: .milliseconds(10), limits: limits
    ) { server, client, artist in
      _ = try await client.discography(at: artist).value
      #expect(await server.mostPending == width)
      #expect(client.activity.soFar.mostPending == width)
      #expect(client.activity.soFar.pending == 0)
    }
  }

  @Test("A busy server is asked again after the time that it names", arguments: [429, 503])
  func retryAfter(status: Int) async throws {
    let clock = ManualClock()
    let busy = MusicServer.Fault.busy(status: status, retryAfter: "7")
    try await withServer(faults: ["/covers/1": [busy, busy]], clock: clock) {
      server, client, artist in
      let discography = client.discography(at: artist)
      for _ in 1...2 {
        let sleep = try await clock.nextSleep()
        #expect(sleep.duration == .seconds(7))
        clock.advance(by: sleep.duration)
      }
      let found = try await discography.value
      #expect(found.entries.allSatisfy { (try? $0.cover?.get()) != nil })
      #expect(await server.requests.count { $0 == "/covers/1" } == 3)
      #expect(client.activity.soFar.retries == 2)
    }
  }

  @Test(
    "A busy server that names no time is asked again after at most the delay of the policy",
    arguments: [nil, "soon", "-1"])
  func noTime(header: String?) async throws {
    let clock = ManualClock()
    try await withServer(
      faults: ["/artists/1": [.busy(status: 503, retryAfter: header)]], clock: clock
    ) { _, client, artist in
      let discography = client.discography(at: artist)
      let sleep = try await clock.nextSleep()
      #expect(sleep.duration <= .milliseconds(100))
      clock.advance(by: sleep.duration)
      let found = try await discography.value
      #expect(found.entries.count == 3)
    }
  }

  @Test("A server that stays busy is asked as often as allowed, then the error says so")
  func staysBusy() async throws {
    let busy = MusicServer.Fault.busy(status: 503, retryAfter: "0")
    try await withServer(faults: ["/artists/1": Array(repeating: busy, count: 9)]) {
      server, client, artist in
      await #expect(throws: MusicError.busy(artist, status: 503, retryAfter: .zero)) {
        try await client.discography(at: artist).value
      }
      #expect(await server.requests.count == 4)
    }
  }

  @Test("A wait beyond the deadline is not begun")
  func deadline() async throws {
    let fault = MusicServer.Fault.busy(status: 429, retryAfter: "86400")
    try await withServer(faults: ["/artists/1": [fault]]) { server, client, artist in
      await #expect(
        throws: MusicError.busy(artist, status: 429, retryAfter: .seconds(86400))
      ) {
        try await client.discography(at: artist).value
      }
      #expect(await server.requests.count == 1)
    }
  }

  @Test("A request without an answer is given up and made again")
  func silent() async throws {
    var limits = MusicClient.Limits.test
    limits.patience = .milliseconds(500)
    try await withServer(faults: ["/albums/2": [.silent]], limits: limits) {
      server, client, artist in
      let found = try await client.discography(at: artist).value
      #expect(found.entries.count == 3)
      #expect(await server.requests.count { $0 == "/albums/2" } >= 2)
    }
  }

  @Test("If no request gets an answer, the error names the address and the time")
  func alwaysSilent() async throws {
    var limits = MusicClient.Limits.test
    limits.patience = .milliseconds(50)
    limits.attempts = 2
    let faults = Array(repeating: MusicServer.Fault.silent, count: 2)
    try await withServer(faults: ["/artists/1": faults], limits: limits) {
      server, client, artist in
      let error = MusicError.silent(artist, after: .milliseconds(50))
      await #expect(throws: error) { try await client.discography(at: artist).value }
      #expect(client.activity.soFar.requests == 2)
      #expect(
        error.localizedDescription == "No answer for \(artist) after 0.05 seconds. Allow more time."
      )
    }
  }

  @Test("A cover that the server does not have is an entry with the reason")
  func missingCover() async throws {
    var documents = Self.artist(albums: 3)
    documents["/covers/1"] = nil
    try await withServer(documents) { server, client, artist in
      let covers = try await client.discography(at: artist).value.entries.map(\.cover)
      #expect(covers.map { $0?.isSuccess } == [true, false, true])
      let address = server.url.appendingPathComponent("covers/1")
      #expect(covers[1]?.failureValue as? MusicError == .refused(address, status: 404))
    }
  }

  @Test("An album without the address of a cover has none")
  func noCover() async throws {
    var documents = Self.artist(albums: 1)
    documents["/albums/0"] = .init("{\"title\": \"T\", \"year\": 1}")
    try await withServer(documents) { server, client, artist in
      let entries = try await client.discography(at: artist).value.entries
      #expect(entries.count == 1)
      #expect(entries[0].cover == nil)
      #expect(await server.requests.count == 2)
    }
  }

  @Test("A cover that is missing, or that an album does not have, is no answer to wait for")
  func progressOfMissingCovers() async throws {
    var documents = Self.artist(albums: 3)
    documents["/covers/1"] = nil
    documents["/albums/2"] = .init("{\"title\": \"T\", \"year\": 1}")
    try await withServer(documents) { server, client, artist in
      let discography = client.discography(at: artist)
      _ = try await discography.value
      let counts = client.activity.soFar
      // The profile, three albums and three covers.
      #expect(counts.answers == 7)
      #expect(counts.albums == 3)
    }
  }

  @Test("An artist without albums costs one request")
  func noAlbums() async throws {
    try await withServer(Self.artist(albums: 0)) { server, client, artist in
      let found = try await client.discography(at: artist).value
      #expect(found.entries.isEmpty)
      #expect(await server.requests == ["/artists/1"])
    }
  }

  @Test("An unknown artist is an error at once")
  func unknown() async throws {
    try await withServer([:]) { server, client, artist in
      await #expect(throws: MusicError.refused(artist, status: 404)) {
        try await client.discography(at: artist).value
      }
      #expect(await server.requests.count == 1)
    }
  }

  @Test(
    "An answer that makes no sense is an error at once",
    arguments: ["", "{ \"name\": \"Gar", "[]", "{\"name\": 7, \"albumRefs\": []}"])
  func garbled(text: String) async throws {
    try await withServer(["/artists/1": .init(text)]) { server, client, artist in
      await #expect(throws: MusicError.garbled(artist)) {
        try await client.discography(at: artist).value
      }
      #expect(await server.requests.count == 1)
    }
  }

  @Test("The first album that fails ends the requests for the others")
  func failingAlbum() async throws {
    var documents = Self.artist(albums: 40)
    documents["/albums/0"] = nil
    var limits = MusicClient.Limits.test
    limits.width = 1
    try await withServer(documents, limits: limits) { server, client, artist in
      let address = server.url.appendingPathComponent("albums/0")
      await #expect(throws: MusicError.refused(address, status: 404)) {
        try await client.discography(at: artist).value
      }
      #expect(await server.requests == ["/artists/1", "/albums/0"])
    }
  }

  @Test("If no server answers, the error names the address")
  func noServer() async throws {
    try await withServer { server, client, artist in
      await server.stop()
      await #expect(throws: MusicError.unreachable(artist)) {
        try await client.discography(at: artist).value
      }
      #expect(client.activity.soFar.requests == 4)
    }
  }

  @Test("A cancelled discography ends its requests and makes no more")
  func cancelled() async throws {
    var limits = MusicClient.Limits.test
    limits.patience = .seconds(3600)
    let faults = ["/albums/0": [MusicServer.Fault.silent], "/albums/1": [.silent]]
    try await withServer(Self.artist(albums: 9), faults: faults, limits: limits) {
      server, client, artist in
      let discography = client.discography(at: artist)
      while await server.requests.count(where: { $0.hasPrefix("/albums") }) < 2 {
        await Task.yield()
      }
      discography.cancel()
      #expect(await discography.completion.failureValue as? ProperationsError == .cancelled)
      while client.activity.soFar.pending > 0 { await Task.yield() }
      let count = client.activity.soFar.requests
      await server.stop()
      #expect(client.activity.soFar.requests == count)
    }
  }

  @Test("A cancelled discography does not wait for the next attempt")
  func cancelledBetweenAttempts() async throws {
    let clock = ManualClock()
    let busy = MusicServer.Fault.busy(status: 503, retryAfter: "20")
    try await withServer(faults: ["/artists/1": [busy]], clock: clock) {
      server, client, artist in
      let discography = client.discography(at: artist)
      _ = try await clock.nextSleep()
      discography.cancel()
      #expect(await discography.completion.failureValue as? ProperationsError == .cancelled)
      while clock.sleeping > 0 { await Task.yield() }
      #expect(await server.requests.count == 1)
    }
  }

  @Test("Retry-After is a number of seconds or a date; a past date means no wait")
  func header() {
    let now = Date(timeIntervalSince1970: 784_111_777)
    func wait(_ text: String) -> Duration? { Duration(retryAfter: text, now: now) }
    #expect(wait("0") == .zero)
    #expect(wait("120") == .seconds(120))
    #expect(wait("Sun, 06 Nov 1994 08:49:47 GMT") == .seconds(10))
    #expect(wait("Sun, 06 Nov 1994 08:49:00 GMT") == .zero)
    for text in ["", "-1", "soon", "1.5", "99999999999999999999", "🦊"] {
      #expect(wait(text) == nil)
    }
  }
}

extension MusicClient.Limits {
  /// Patient enough for a busy machine.
  fileprivate static var test: Self {
    var limits = Self()
    limits.patience = .seconds(60)
    return limits
  }
}
