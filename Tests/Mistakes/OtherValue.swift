// A promise is given a value of another type.
// error: cannot convert value of type 'String' to expected argument type 'Int'
import Properations

private func mistake() {
  let promise = Promises.make(promising: Int.self)
  promise.succeed(with: "1")
}
