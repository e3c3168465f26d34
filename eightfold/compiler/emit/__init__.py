"""Commands as they are emitted: `emitter` collects them.

`memory` and `staging` say where tensors are, `nest` and `tile` are parts of them.

Imports the ground; steps and the compiler's own modules import it.
"""
