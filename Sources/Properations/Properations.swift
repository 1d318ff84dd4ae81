@_exported import Futures
@_exported import OperationBridge
