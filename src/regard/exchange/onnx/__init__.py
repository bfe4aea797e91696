"""To ONNX."""
