// A task of one's own has a variable.
// warning: must restate inherited '@unchecked Sendable' conformance
import Properations

private enum LoadError: Error { case offline }

private final class Load: ProducerTask<Int, LoadError> {
  private var path = ""

  override func execute() { finish(with: .success(path.count)) }
}
