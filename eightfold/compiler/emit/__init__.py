"""Commands as they are emitted: `emitter` collects them.

`memory` and `staging` say where tensors are, `image` holds the constants, `tile` and `loops` cut
work into what a command can count.

Imports the ground; steps and the compiler's own modules import it.
"""
