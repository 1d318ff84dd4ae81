import ExampleSupport
import Foundation
import MusicCatalogue

/// The options of the program.
struct Options: Sendable {
  /// The artist on the example's own server.
  private(set) var artist = "keepers"
  /// The address of an artist on another server.
  private(set) var url: URL?
  private(set) var limits = MusicClient.Limits()

  /// The arguments that the program takes.
  static var syntax: CommandSyntax<Options> {
    CommandSyntax(
      program: "ArtistAlbums", operands: "[ARTIST]",
      options: [
        .number("-j", "--jobs", value: "N", in: 1...64, help: "fetch N at a time (default 4)") {
          $0.limits.width = $1
        },
        .decimal(
          "--timeout", value: "SECONDS", from: "0.01", to: "3600", of: " of seconds",
          help: "wait so long for one answer (default 1)"
        ) { $0.limits.patience = .seconds($1) },
        .number(
          "--attempts", value: "N", in: 1...100, help: "try each request N times (default 4)"
        ) { $0.limits.attempts = $1 },
        .decimal(
          "--deadline", value: "SECONDS", from: "0", to: "86400", of: " of seconds",
          help: "give a request up after this time, with all its attempts (default 30)"
        ) { $0.limits.deadline = .seconds($1) },
      ],
      summary: """
        Prints the albums of an artist, with the sizes of their covers. The program
        starts a music server on the loopback address and asks it over HTTP. The
        server is sometimes busy and sometimes silent, as real servers are.
        """,
      details: """
        ARTIST is 'keepers' (the default), 'foxes', 'quiet' (no albums) or 'garbled'
        (an answer that is no JSON). It may also be the address of an artist on
        another server, such as http://localhost:8080/artists/7.

        Exit code: 0 for success, also if covers are missing; 1 if the artist or an
        album could not be fetched; 2 for wrong usage; 130 after Ctrl-C, and 128 + N
        after another signal N.
        """
    ) { options, argument throws(UsageError) in
      guard let text = argument.text, !text.isEmpty else {
        throw UsageError("'\(argument.visible)' is no artist")
      }
      options.artist = text
      options.url = nil
      guard text.contains("/") else { return }
      guard let url = URL(string: text), ["http", "https"].contains(url.scheme), url.host != nil
      else { throw UsageError("'\(text.visible)' is no address of HTTP") }
      options.url = url
    }
  }
}
