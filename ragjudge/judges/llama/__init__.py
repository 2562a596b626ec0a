"""The judge that runs a GGUF model in this process, through llama-cpp-python."""
