import ExampleSupport
import Foundation
import MusicCatalogue

/// The albums of an artist as a table for people.
struct Table {
  /// One line for each cover that could not be fetched.
  let complaints: [String]
  private let artist: String
  private let rows: [(year: String, title: String, cover: String)]

  init(_ discography: Discography) {
    artist = discography.artist.visible
    complaints = discography.entries.compactMap { entry in
      guard case .failure(let error)? = entry.cover else { return nil }
      return "the cover of '\(entry.album.title)' is missing: \(error.message)".visible
    }
    rows = discography.entries.map { entry in
      let cover =
        switch entry.cover {
        case .success(let data)?: Int64(data.count).asSize
        case .failure?: "missing"
        case nil: "no cover"
        }
      return ("\(entry.album.year)", entry.album.title.visible, cover)
    }
  }

  /// The table; no line is wider than the terminal.
  func text(columns: Int) -> String {
    guard !rows.isEmpty else { return "\(artist) has no albums.\n".cut(to: columns) }
    let widths = (
      year: rows.map(\.year.columns).max() ?? 0, title: rows.map(\.title.columns).max() ?? 0
    )
    // Eleven columns for the cover, two between the columns.
    let title = min(widths.title, max(8, columns - widths.year - 15))
    let lines = rows.map { row in
      "\(row.year.padded(to: widths.year))  \(row.title.cut(to: title).padded(to: title))  "
        + row.cover
    }
    return ([artist, ""] + lines + ["", rows.count.of("album")])
      .map { $0.cut(to: columns) + "\n" }.joined()
  }
}

extension String {
  /// The number of columns that the text takes on a terminal.
  var columns: Int { reduce(0) { $0 + $1.columns } }

  /// The text with blanks at its end.
  func padded(to columns: Int) -> String {
    self + String(repeating: " ", count: max(0, columns - self.columns))
  }

  /// The beginning of the text that fits, with an ellipsis if something is missing.
  func cut(to columns: Int) -> String {
    guard self.columns > columns else { return self }
    var (text, width) = ("", 0)
    for character in self {
      width += character.columns
      if width > columns - 1 { break }
      text.append(character)
    }
    return text + "…"
  }
}

extension Character {
  /// The number of columns that the character takes on a terminal: two for emoji and for
  /// the characters of East Asia.
  fileprivate var columns: Int {
    guard let first = unicodeScalars.first else { return 0 }
    if first.properties.isEmojiPresentation || unicodeScalars.contains("\u{FE0F}") { return 2 }
    switch first.value {
    case 0x1100...0x115F, 0x2E80...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F,
      0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x20000...0x3FFFD:
      return 2
    default:
      switch first.properties.generalCategory {
      case .nonspacingMark, .enclosingMark, .format: return 0
      default: return 1
      }
    }
  }
}
