// The precompiled header needs a source file to hang on.
