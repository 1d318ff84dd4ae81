import Foundation
import Futures

// Each operator is one operation that waits for its upstream. Only the last
// stage of a chain is added to a queue.

extension ProducerTask {
  /// Makes another value of the value.
  ///
  /// Errors pass by. The stage takes part in a queue like any task, and runs
  /// there right after the one above it. Add the last stage of a chain to a
  /// queue: those above that are in none are added with it.
  ///
  /// - Parameter transform: Makes the new value.
  @inlinable
  public final func map<NewOutput: Sendable>(
    _ transform: @escaping @Sendable (Output) -> NewOutput
  ) -> ProducerTask<NewOutput, Failure> {
    stage("map", .success) { task, source in task.succeed(with: transform(source.settledValue)) }
  }

  /// Takes a property of the value.
  ///
  /// - Parameter keyPath: The property.
  public final func map<Value: Sendable>(
    _ keyPath: any KeyPath<Output, Value> & Sendable
  ) -> ProducerTask<Value, Failure> { map { $0[keyPath: keyPath] } }

  /// Takes two properties of the value.
  ///
  /// - Parameters:
  ///   - first: The first property.
  ///   - second: The second property.
  public final func map<First: Sendable, Second: Sendable>(
    _ first: any KeyPath<Output, First> & Sendable, _ second: any KeyPath<Output, Second> & Sendable
  ) -> ProducerTask<(First, Second), Failure> {
    map { ($0[keyPath: first], $0[keyPath: second]) }
  }

  /// Takes three properties of the value.
  ///
  /// - Parameters:
  ///   - first: The first property.
  ///   - second: The second property.
  ///   - third: The third property.
  public final func map<First: Sendable, Second: Sendable, Third: Sendable>(
    _ first: any KeyPath<Output, First> & Sendable,
    _ second: any KeyPath<Output, Second> & Sendable,
    _ third: any KeyPath<Output, Third> & Sendable
  ) -> ProducerTask<(First, Second, Third), Failure> {
    map { ($0[keyPath: first], $0[keyPath: second], $0[keyPath: third]) }
  }

  /// Makes another value of the value, or fails.
  ///
  /// What the closure throws is the `.provided` error; one of the task above
  /// keeps its value and loses its type.
  ///
  /// - Parameter transform: Makes the new value.
  public final func tryMap<NewOutput: Sendable>(
    _ transform: @escaping @Sendable (Output) throws -> NewOutput
  ) -> ProducerTask<NewOutput, any Error> {
    stage("tryMap", .success, convert: convertToAny(Failure.self)) { task, source in
      task.settle(trying: { try transform(source.settledValue) })
    }
  }

  /// Makes another value of the value, or fails in the way of this task, whose
  /// type of failure is kept.
  ///
  /// - Parameters:
  ///   - type: The type of failure. A task that cannot fail gets one by
  ///     ``setFailureType(to:)``.
  ///   - transform: Makes the new value, or throws an error of that type.
  public final func tryMap<NewOutput: Sendable>(
    throwing type: Failure.Type,
    _ transform: @escaping @Sendable (Output) throws(Failure) -> NewOutput
  ) -> ProducerTask<NewOutput, Failure> {
    stage("tryMap", .success) { task, source in
      do throws(Failure) {
        task.succeed(with: try transform(source.settledValue))
      } catch {
        task.fail(thrown: error)
      }
    }
  }

  /// Goes on with another task.
  ///
  /// The closure's task is put in this one's queue, if it is in none, and its
  /// result is the result. No slot is held meanwhile. Errors pass by. Cancelling
  /// the stage cancels it.
  ///
  /// - Parameter transform: Makes the task to go on with: any task with the
  ///   same type of failure, or one that cannot fail; any task at all if this one cannot fail.
  @_disfavoredOverload
  public final func flatMap<T: ProducerTaskProtocol>(
    _ transform: @escaping @Sendable (Output) -> T
  ) -> ProducerTask<T.Output, Failure> where T.Failure == Failure {
    stage("flatMap", [.success, .following]) { task, source in
      task.follow(transform(source.settledValue))
    }
  }

  /// Makes another value of the value, or fails with
  /// ``ProducerTaskError/nilOutput`` if there is none.
  ///
  /// - Parameter transform: Makes the new value, or `nil`.
  public final func compactMap<NewOutput: Sendable>(
    _ transform: @escaping @Sendable (Output) -> NewOutput?
  ) -> ProducerTask<NewOutput, Failure> {
    stage("compactMap", .success) { task, source in
      if let value = transform(source.settledValue) {
        task.succeed(with: value)
      } else {
        task.fail(with: .internal(ProducerTaskError.nilOutput))
      }
    }
  }

  /// Makes another value of the value, fails with
  /// ``ProducerTaskError/nilOutput`` if there is none, or with what the closure
  /// throws.
  ///
  /// - Parameter transform: Makes the new value, or `nil`.
  public final func tryCompactMap<NewOutput: Sendable>(
    _ transform: @escaping @Sendable (Output) throws -> NewOutput?
  ) -> ProducerTask<NewOutput, any Error> {
    stage("tryCompactMap", .success, convert: convertToAny(Failure.self)) { task, source in
      task.settle(tryingOptional: { try transform(source.settledValue) })
    }
  }

  /// Makes another value of the value, fails with
  /// ``ProducerTaskError/nilOutput`` if there is none, or in the way of this
  /// task, whose type of failure is kept.
  ///
  /// - Parameters:
  ///   - type: The type of failure.
  ///   - transform: Makes the new value, or `nil`, or throws an error of that
  ///     type.
  public final func tryCompactMap<NewOutput: Sendable>(
    throwing type: Failure.Type,
    _ transform: @escaping @Sendable (Output) throws(Failure) -> NewOutput?
  ) -> ProducerTask<NewOutput, Failure> {
    stage("tryCompactMap", .success) { task, source in
      do throws(Failure) {
        if let value = try transform(source.settledValue) {
          task.succeed(with: value)
        } else {
          task.fail(with: .internal(ProducerTaskError.nilOutput))
        }
      } catch {
        task.fail(thrown: error)
      }
    }
  }

  /// Puts a value in the place of `nil`.
  ///
  /// - Parameter output: Makes the value; called only if it is needed.
  public final func replaceNil<NonNil: Sendable>(
    with output: @escaping @Sendable () -> NonNil
  ) -> ProducerTask<NonNil, Failure> where Output == NonNil? { map { $0 ?? output() } }

  /// Puts a value in the place of `nil`.
  ///
  /// - Parameter output: The value.
  @_disfavoredOverload
  public final func replaceNil<NonNil: Sendable>(
    with output: NonNil
  ) -> ProducerTask<NonNil, Failure> where Output == NonNil? { map { $0 ?? output } }

  /// Drops the value.
  public final func ignoreOutput() -> VoidTask<Failure> { map { _ in () } }

  /// Puts a value in the place of the one that a `filter`, `compactMap` or
  /// `first` above did not have.
  ///
  /// That is in the place of ``ProducerTaskError/nilOutput``; all other errors
  /// pass by.
  ///
  /// - Parameter output: The value.
  public final func replaceEmpty(with output: Output) -> ProducerTask<Output, Failure> {
    stage("replaceEmpty", .failure) { task, source in
      let produced = source.settledProduced
      if case .failure(.internal(ProducerTaskError.nilOutput)) = produced {
        task.succeed(with: output)
      } else {
        task.settle(produced, from: .closure)
      }
    }
  }

  /// Passes a value on if it meets a test, and fails with
  /// ``ProducerTaskError/nilOutput`` if not.
  ///
  /// - Parameter isIncluded: The test.
  public final func filter(
    _ isIncluded: @escaping @Sendable (Output) -> Bool
  ) -> ProducerTask<Output, Failure> {
    stage("filter", .success) { task, source in
      let value = source.settledValue
      if isIncluded(value) {
        task.succeed(with: value)
      } else {
        task.fail(with: .internal(ProducerTaskError.nilOutput))
      }
    }
  }

  /// Passes a value on if it meets a test that may fail.
  ///
  /// - Parameter isIncluded: The test; what it throws is the error.
  public final func tryFilter(
    _ isIncluded: @escaping @Sendable (Output) throws -> Bool
  ) -> ProducerTask<Output, any Error> {
    tryCompactMap { try isIncluded($0) ? $0 : nil }
  }

  /// Passes a value on if it meets a test that may fail in the way of this task,
  /// whose type of failure is kept.
  ///
  /// - Parameters:
  ///   - type: The type of failure.
  ///   - isIncluded: The test; what it throws is the error.
  public final func tryFilter(
    throwing type: Failure.Type,
    _ isIncluded: @escaping @Sendable (Output) throws(Failure) -> Bool
  ) -> ProducerTask<Output, Failure> {
    tryCompactMap(throwing: type) { value throws(Failure) in
      try isIncluded(value) ? value : nil
    }
  }

  /// Whether the value meets a test.
  ///
  /// - Parameter predicate: The test.
  public final func allSatisfy(
    _ predicate: @escaping @Sendable (Output) -> Bool
  ) -> ProducerTask<Bool, Failure> { map(predicate) }

  /// Whether the value meets a test that may fail.
  ///
  /// - Parameter predicate: The test; what it throws is the error.
  public final func tryAllSatisfy(
    _ predicate: @escaping @Sendable (Output) throws -> Bool
  ) -> ProducerTask<Bool, any Error> { tryMap(predicate) }

  /// Whether the value meets a test.
  ///
  /// - Parameter predicate: The test.
  public final func contains(
    where predicate: @escaping @Sendable (Output) -> Bool
  ) -> ProducerTask<Bool, Failure> { map(predicate) }

  /// Whether the value meets a test that may fail.
  ///
  /// - Parameter predicate: The test; what it throws is the error.
  public final func tryContains(
    where predicate: @escaping @Sendable (Output) throws -> Bool
  ) -> ProducerTask<Bool, any Error> { tryMap(predicate) }

  /// Whether the value is a certain one.
  ///
  /// - Parameter value: The certain one.
  public final func contains(_ value: Output) -> ProducerTask<Bool, Failure>
  where Output: Equatable { map { $0 == value } }
}

extension ProducerTask where Output: Sequence & Sendable, Output.Element: Sendable {
  /// The first element, or a failure with ``ProducerTaskError/nilOutput``.
  public final func first() -> ProducerTask<Output.Element, Failure> {
    compactMap { $0.first { _ in true } }
  }

  /// The first element that meets a test, or a failure with
  /// ``ProducerTaskError/nilOutput``.
  ///
  /// - Parameter predicate: The test.
  public final func first(
    where predicate: @escaping @Sendable (Output.Element) -> Bool
  ) -> ProducerTask<Output.Element, Failure> { compactMap { $0.first(where: predicate) } }

  /// The first element that meets a test that may fail, or a failure with
  /// ``ProducerTaskError/nilOutput``.
  ///
  /// - Parameter predicate: The test; what it throws is the error.
  public final func tryFirst(
    where predicate: @escaping @Sendable (Output.Element) throws -> Bool
  ) -> ProducerTask<Output.Element, any Error> { tryCompactMap { try $0.first(where: predicate) } }
}

extension ProducerTask {
  /// Decodes a value.
  ///
  /// - Parameters:
  ///   - type: The type of the value.
  ///   - decoder: What decodes; its error is the `.provided` one.
  public final func decode<Item: Decodable & Sendable, Decoder: TaskDecoder>(
    type: Item.Type, decoder: Decoder
  ) -> ProducerTask<Item, any Error> where Output == Decoder.Input {
    // Sendable: decoders are configured once and then only asked.
    nonisolated(unsafe) let decoder = decoder
    return stage("decode", .success, convert: convertToAny(Failure.self)) { task, source in
      task.settle(trying: { try decoder.decode(type, from: source.settledValue) })
    }
  }

  /// Encodes the value.
  ///
  /// - Parameter encoder: What encodes; its error is the `.provided` one.
  public final func encode<Encoder: TaskEncoder>(
    encoder: Encoder
  ) -> ProducerTask<Encoder.Output, any Error> where Output: Encodable {
    // Sendable: encoders are configured once and then only asked.
    nonisolated(unsafe) let encoder = encoder
    return stage("encode", .success, convert: convertToAny(Failure.self)) { task, source in
      task.settle(trying: { try encoder.encode(source.settledValue) })
    }
  }
}

/// Something that decodes values; `JSONDecoder` and `PropertyListDecoder` do.
public protocol TaskDecoder {
  /// What it decodes from.
  associatedtype Input: Sendable
  /// Decodes a value.
  func decode<Item: Decodable>(_ type: Item.Type, from input: Input) throws -> Item
}

/// Something that encodes values; `JSONEncoder` and `PropertyListEncoder` do.
public protocol TaskEncoder {
  /// What it encodes to.
  associatedtype Output: Sendable
  /// Encodes a value.
  func encode<Item: Encodable>(_ item: Item) throws -> Output
}

extension JSONDecoder: TaskDecoder {}
extension JSONEncoder: TaskEncoder {}
extension PropertyListDecoder: TaskDecoder {}
extension PropertyListEncoder: TaskEncoder {}

extension OperatorTask where Failure == any Error {
  /// Settles with what a closure returns or throws.
  func settle(trying body: () throws -> Output) {
    do { succeed(with: try body()) } catch { fail(thrown: error) }
  }

  /// Settles with what a closure returns or throws; `nil` is an error.
  func settle(tryingOptional body: () throws -> Output?) {
    do {
      if let value = try body() {
        succeed(with: value)
      } else {
        fail(with: .internal(ProducerTaskError.nilOutput))
      }
    } catch {
      fail(thrown: error)
    }
  }
}
