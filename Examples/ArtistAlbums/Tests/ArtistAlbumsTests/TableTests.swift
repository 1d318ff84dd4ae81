import Foundation
import Testing

@testable import ArtistAlbums
@testable import MusicCatalogue

/// The table and the progress line for people.
@Suite("The table", .timeLimit(.minutes(1)))
struct TableTests {
  private struct Lost: LocalizedError { var errorDescription: String? { "It is lost." } }

  private func table(_ artist: String, _ titles: String...) -> Table {
    Table(
      Discography(
        artist: artist,
        entries: titles.map { title in
          let album = Album(title: title, year: 1998, coverRef: nil)
          return Discography.Entry(album: album, cover: .success(Data(count: 2048)))
        }))
  }

  @Test("Emoji and wide characters take two columns, so all covers stand in one column")
  func wide() {
    #expect(
      table("🦊 Fox", "abcd", "夜の狐", "🌈", "e\u{301}é", "👩‍👩‍👧").text(columns: 80) == """
        🦊 Fox

        1998  abcd    2.0 KiB
        1998  夜の狐  2.0 KiB
        1998  🌈      2.0 KiB
        1998  e\u{301}é      2.0 KiB
        1998  👩‍👩‍👧      2.0 KiB

        5 albums

        """)
  }

  @Test("No line is wider than the terminal", arguments: [1, 2, 10, 20, 40, 80, 200])
  func narrow(columns: Int) {
    let long = String(repeating: "夜🦊a", count: 50)
    let lines = table(long, long, "b").text(columns: columns).split(separator: "\n")
    #expect(lines.allSatisfy { String($0).columns <= columns })
    #expect(lines.count == 4)
  }

  @Test("A title that is too long ends with an ellipsis, and its cover is still shown")
  func cut() {
    let text = table("A", String(repeating: "x", count: 100)).text(columns: 40)
    #expect(text.contains("x…  2.0 KiB\n"))
  }

  @Test("Names cannot start a line or recolour the terminal")
  func hostile() {
    let text = table("a\u{1B}[2Jb", "c\nd\u{202E}").text(columns: 80)
    #expect(text.contains("a\\u{1b}[2Jb"))
    #expect(text.contains("c\\u{a}d\\u{202e}"))
  }

  @Test("An artist without albums is a sentence")
  func empty() {
    #expect(table("The Quiet").text(columns: 80) == "The Quiet has no albums.\n")
  }

  @Test("A cover that is missing is named, with the reason")
  func missing() {
    let album = Album(title: "T", year: 7, coverRef: nil)
    let table = Table(
      Discography(
        artist: "A",
        entries: [.init(album: album, cover: .failure(Lost())), .init(album: album, cover: nil)]))
    #expect(table.complaints == ["the cover of 'T' is missing: It is lost."])
    #expect(table.text(columns: 80).contains("7  T  missing\n7  T  no cover\n"))
  }

  @Test("The progress line counts answers, bytes and retries")
  func progress() {
    var counts = Activity.Counts()
    #expect(counts.text == "Looking for the artist")
    counts.albums = 8
    counts.answers = 4
    counts.bytes = 2048
    #expect(counts.text == "3 of 16 answers, 2.0 KiB")
    counts.retries = 1
    #expect(counts.text == "3 of 16 answers, 2.0 KiB, 1 retry")
  }
}
