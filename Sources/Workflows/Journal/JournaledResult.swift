import Foundation

/// How the results of a task are recorded.
///
/// Results travel as `ResultBox`es, because the type of the result is known here only.
protocol JournaledResult: Sendable {
  /// What the record is known by.
  var identifier: String { get }
  var version: Int { get }

  /// The result as JSON; runs user code.
  func encoded(_ box: ResultObject) throws -> Data
  /// The result in JSON; runs user code.
  func decoded(from json: Data) throws -> ResultObject
  /// Makes a result that of its task; with the workflow's lock held.
  func store(_ box: ResultObject, in task: AnyWorkflowTask)
}

extension JournaledResult {
  fileprivate func store<Output: Sendable>(
    _ box: ResultObject, in task: AnyWorkflowTask, as: Output.Type
  ) {
    guard let box = box as? ResultBox<Output>, let task = task as? WorkflowTask<Output> else {
      preconditionFailure("a result is of another type than its task")
    }
    task.stored = box.result
  }
}

struct CodableResult<Output: Codable & Sendable>: JournaledResult {
  let identifier: String
  let version: Int

  // (A lone number or string is no document for every decoder.)
  private struct Document: Codable { let result: Output }

  func encoded(_ box: ResultObject) throws -> Data {
    guard let box = box as? ResultBox<Output> else { return Data() }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    // What JSON has no numbers for.
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

  func store(_ box: ResultObject, in task: AnyWorkflowTask) {
    store(box, in: task, as: Output.self)
  }
}

/// For tasks whose result is that they have finished.
struct NoResult: JournaledResult {
  let identifier: String
  let version: Int

  func encoded(_ box: ResultObject) -> Data { Data("{}".utf8) }
  func decoded(from json: Data) -> ResultObject { ResultBox<Void>(()) }
  func store(_ box: ResultObject, in task: AnyWorkflowTask) { store(box, in: task, as: Void.self) }
}
