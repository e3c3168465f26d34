"""A small int8 network for handwritten digits, trained and quantized by the project itself."""
