import ExampleSupport
import Foundation
import Properations

/// The reason why a file was not ingested.
struct Problem: Error, Hashable, LocalizedError {
  let file: String
  let message: String
  /// Whether the problem may disappear in a moment.
  let isTransient: Bool
  /// Whether all other files would have the same problem.
  let isGeneral: Bool

  init(_ file: String, _ message: String, isTransient: Bool = false, isGeneral: Bool = false) {
    self.file = file
    self.message = message
    self.isTransient = isTransient
    self.isGeneral = isGeneral
  }

  init(_ file: String, _ error: SystemError) {
    self.init(
      file, "\(error)", isTransient: error.isTransient, isGeneral: error.meansThatNothingFits)
  }

  init(changed file: String) {
    self.init(file, "changed while it was read", isTransient: true)
  }

  init(tooManyHangBefore file: String) {
    self.init(
      file, "not begun, because too many files hang; check the disk, and run again",
      isGeneral: true)
  }

  /// Makes a problem from any other error.
  init(_ file: String, _ error: any Error) {
    switch error {
    case let problem as Problem: self = problem
    case let error as SystemError: self.init(file, error)
    case ProducerTaskError.conditionsFailure(let errors) where !errors.isEmpty:
      self.init(file, errors[0])
    case ProducerTaskError.timedOut(let limit):
      self.init(file, "not finished within \(limit)")
    default: self.init(file, error.message)
    }
  }

  var errorDescription: String? { "\(file): \(message)" }
}
