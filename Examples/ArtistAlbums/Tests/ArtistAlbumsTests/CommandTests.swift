import Foundation
import MusicServer
import Properations
import TestSupport
import Testing

/// The program, as a user runs it.
@Suite("The program ArtistAlbums", .timeLimit(.minutes(5)))
struct CommandTests {
  private let program = Program("ArtistAlbums")

  @Test("It prints the table, and nothing about progress when it is piped")
  func table() async throws {
    let outcome = try await program.run([])
    #expect(outcome.exitCode == 0)
    #expect(
      outcome.output == """
        The Lighthouse Keepers

        1998  Fog Signal                                                     637 bytes
        2001  Two Short, One Long                                            1.2 KiB
        2003  Lamp Oil                                                       1.8 KiB
        2006  The Keeper's Daughter and Other Songs of the Western Approac…  2.4 KiB
        2010  Storm Glass                                                    3.0 KiB
        2014  Fresnel                                                        3.6 KiB
        2019  Automation                                                     missing
        2024  Dark Again                                                     4.8 KiB

        8 albums

        """)
    #expect(outcome.errors.contains("the cover of 'Automation' is missing: There is no http://"))
    #expect(!outcome.errors.contains("\u{1B}"))
  }

  @Test(
    "What cannot be fetched is one message and exit code 1",
    arguments: [
      ("garbled", "The server's answer for http://"), ("nobody", "There is no http://"),
      ("🦊", "There is no http://"), ("http://127.0.0.1:9/artists/1", "No server answers for http"),
    ])
  func failures(artist: String, message: String) async throws {
    let outcome = try await program.run([artist])
    #expect(outcome.exitCode == 1)
    #expect(outcome.output.isEmpty)
    #expect(outcome.errors.hasPrefix("ArtistAlbums: \(message)"))
    #expect(outcome.errors.count { $0 == "\n" } == 1)
  }

  @Test(
    "Wrong usage is exit code 2",
    arguments: [
      ["--jobs", "0"], ["--timeout=never"], ["--attempts"], ["--colour"], [""],
      ["ftp://localhost/artists/1"], ["http:///artists/1"],
    ])
  func wrongUsage(arguments: [String]) async throws {
    let outcome = try await program.run(arguments)
    #expect(outcome.exitCode == 2)
    #expect(outcome.output.isEmpty)
    #expect(outcome.errors.contains("Usage: ArtistAlbums"))
  }

  @Test("The help fits into 80 columns")
  func help() async throws {
    let outcome = try await program.run(["--help"])
    #expect(outcome.exitCode == 0)
    #expect(outcome.output.split(separator: "\n").allSatisfy { $0.count <= 80 })
  }

  @Test("Ctrl-C stops the requests, clears the line and exits with 130")
  func interrupted() async throws {
    let document = MusicServer.Document("{\"name\": \"A\", \"albumRefs\": [\"/albums/1\"]}")
    let server = try await MusicServer(
      ["/artists/1": document], faults: ["/albums/1": [.silent]])
    let terminal = try Terminal()
    let artist = server.url.appendingPathComponent("artists/1").absoluteString
    let (process, exitCode) = try program.start(["--timeout", "3600", artist], at: terminal)
    try await terminal.appearance(of: "0 of 2 answers").value
    kill(process.processIdentifier, SIGINT)
    #expect(try await exitCode.value == 130)
    let end = terminal.appearance(of: "\r\u{1B}[K")
    try await end.value
    #expect(terminal.text.hasSuffix("\r\u{1B}[K"))
    #expect(terminal.isCooked)
    await server.stop()
  }
}
