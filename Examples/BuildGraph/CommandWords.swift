/// The words of a command, as a shell would split them.
///
/// Blanks separate words. Single quotes, double quotes and the backslash keep what they
/// enclose or precede. Nothing is expanded: a word with a `$` is that word.
enum CommandWords {
  /// Splits a command; `nil` if it has no word, or a quote is not closed.
  static func split(_ text: String) -> [String]? {
    var words: [String] = []
    var word: String?
    var quote: Character?
    var isEscaped = false
    for character in text {
      if isEscaped {
        // In double quotes the backslash matters only before these.
        if quote == "\"", character != "\"", character != "\\" { word?.append("\\") }
        word = (word ?? "") + String(character)
        isEscaped = false
      } else if character == "\\", quote != "'" {
        word = word ?? ""
        isEscaped = true
      } else if let open = quote {
        if character == open { quote = nil } else { word?.append(character) }
      } else if character == "'" || character == "\"" {
        word = word ?? ""
        quote = character
      } else if character.isWhitespace {
        if let done = word { words.append(done) }
        word = nil
      } else {
        word = (word ?? "") + String(character)
      }
    }
    if quote != nil || isEscaped { return nil }
    if let word { words.append(word) }
    return words.isEmpty ? nil : words
  }
}
