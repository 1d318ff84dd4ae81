import Foundation

/// How the results of a task are recorded.
///
/// Results are passed as `ResultBox`es, because only the conforming type knows the type
/// of the result.
protocol JournaledResult: Sendable {
  /// The identifier of the record.
  var identifier: String { get }
  var version: Int { get }

  /// Encodes the result as JSON; runs user code.
  func encoded(_ box: ResultObject) throws -> Data
  /// Decodes the result from JSON; runs user code.
  func decoded(from json: Data) throws -> ResultObject
}

struct CodableResult<Output: Codable & Sendable>: JournaledResult {
  let identifier: String
  let version: Int

  // Some decoders do not accept a single number or string as a document.
  private struct Document: Codable { let result: Output }

  func encoded(_ box: ResultObject) throws -> Data {
    guard let box = box as? ResultBox<Output> else { return Data() }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    // JSON has no infinity and no NaN.
    encoder.nonConformingFloatEncodingStrategy = .convertToString(
      positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
    return try encoder.encode(Document(result: box.result))
  }

  func decoded(from json: Data) throws -> ResultObject {
    let decoder = JSONDecoder()
    decoder.nonConformingFloatDecodingStrategy = .convertFromString(
      positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
    return ResultBox(try decoder.decode(Document.self, from: json).result)
  }
}

/// For tasks of type `Void`: only the fact that they have finished is recorded.
struct NoResult: JournaledResult {
  let identifier: String
  let version: Int

  func encoded(_ box: ResultObject) -> Data { Data("{}".utf8) }
  func decoded(from json: Data) -> ResultObject { ResultBox<Void>(()) }
}
