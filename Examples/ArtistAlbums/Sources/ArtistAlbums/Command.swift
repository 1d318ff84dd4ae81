import ExampleSupport
import Foundation
import MusicCatalogue
import MusicServer
import Properations

/// Prints the albums of an artist: the first example of Properations, over real HTTP.
///
///     profile ─▶ albums, some at a time ─┬▶ covers, some at a time ─▶ table
///        └───────────────────────────────┘
///
/// - `MusicClient` makes the futures. Each request has a time limit, and is tried again
///   when the server asks for it.
/// - `MusicServer` is the server, with planned faults.
/// - `Table` shows the result, cut to the width of the terminal.
@main
@MainActor
enum Command {
  static func main() async {
    StandardStreams.prepare()
    let interruption = Interruption.first()
    switch Options.syntax.start(Options()) {
    case .exit(let code): exit(code)
    case .run(let options): exit(await run(options, until: interruption))
    }
  }

  private static func run(_ options: Options, until interruption: Future<Int32>) async -> Int32 {
    if let url = options.url { return await show(url, options, until: interruption) }
    do {
      let server = try await MusicServer.demo()
      let artist = server.url.appendingPathComponent("artists/\(options.artist)")
      let code = await show(artist, options, until: interruption)
      await server.stop()
      return code
    } catch {
      Console.complain("cannot start the server: \(error.message)")
      return 1
    }
  }

  private static func show(
    _ artist: URL, _ options: Options, until interruption: Future<Int32>
  ) async -> Int32 {
    let client = MusicClient(options.limits)
    let discography = client.discography(at: artist)
    // Inline: cancellation must not wait for other threads.
    interruption.onSuccess(on: .inline) { _ in discography.cancel() }

    let line = StatusLine { client.activity.soFar.text }
    let result = await discography.completion
    line?.erase()

    switch result {
    case .success(let discography):
      let table = Table(discography)
      table.complaints.forEach(Console.complain)
      let columns = Console.output.size?.columns ?? 80
      return Console.output.write(table.text(columns: columns)) ? 0 : 1
    case .failure(let error):
      if let signal = interruption.result?.successValue {
        return Interruption.exitCode(for: signal)
      }
      Console.complain(error.message.visible)
      return 1
    }
  }
}

extension Activity.Counts {
  /// The text of the progress line.
  var text: String {
    guard let albums else { return "Looking for the artist" }
    // One answer is the profile; each album has a cover.
    let retries = retries == 0 ? "" : ", \(retries.of("retry", plural: "retries"))"
    return "\(answers - 1) of \(2 * albums) answers, \(Int64(bytes).asSize)\(retries)"
  }
}
