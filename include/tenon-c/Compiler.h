/*===- tenon-c/Compiler.h - Compile a model ---------------------*- C -*-===*\
 *
 * Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===*
 *
 * The public C interface of libtenon_compiler: from the text of a model to a
 * shared object that tenon-c/Model.h opens. The library needs neither LLVM nor
 * CUDA on the machine; GPU code needs ptxas, which it looks for.
 *
 * Every function is safe to call from several threads at once. What goes wrong
 * is told through the diagnostic handler; `tenonLastError` is the runtime's.
 *
\*===----------------------------------------------------------------------===*/

#ifndef TENON_C_COMPILER_H
#define TENON_C_COMPILER_H

#include "tenon-c/Model.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum TenonSeverity {
  /** More about the diagnostic before it. */
  TENON_NOTE = 0,
  /** What the compiler did, or could not do, and why. */
  TENON_REMARK = 1,
  TENON_WARNING = 2,
  TENON_ERROR = 3,
} TenonSeverity;

/** What the compiler has to say; all strings live during the callback. */
typedef struct TenonDiagnostic {
  TenonSeverity severity;
  const char *message;
  /** Place in the source, counted from 1; null and 0 where unknown. */
  const char *file;
  int32_t line, column;
  /** Of a remark, null for all else. `kind` is "passed", "missed", "analysis"
   *  or "failure"; `function` is the function it is about, "" if none. */
  const char *kind, *category, *name, *function;
  /** Of a remark, its facts as a JSON object; null for all else. "Reason" and
   *  "Suggestion" are text for people. "Values" is an object for programs: the
   *  reasons by code, with their data, and what a layer runs as. */
  const char *arguments;
} TenonDiagnostic;

/** Takes one diagnostic. Called on the thread that compiles. */
typedef void (*TenonDiagnosticHandler)(const TenonDiagnostic *diagnostic,
                                       void *context);

/** All zero is a valid value, and the default. */
typedef struct TenonCompileOptions {
  /** GPU architectures, "sm_90a"; CPU code is always there, so "cpu" adds
   *  nothing. */
  const char *const *targets;
  int32_t numTargets;
  /** Whether remarks are wanted. */
  int32_t remarks;
  /** What CompileOptions.def explains: truth values, and texts, where null is
   *  the default. */
#define TENON_SWITCH(NAME, FLAG, HELP) int32_t NAME;
#define TENON_TEXT(NAME, FLAG, DEFAULT, VALUES, HELP) const char *NAME;
#include "tenon-c/CompileOptions.def"
} TenonCompileOptions;

/** Compiles the `sourceBytes` bytes of MLIR at `source` (text or bytecode),
 *  which diagnostics call `sourceName`, to a shared object at `output`, and its
 *  C header to `header` unless that is null. Files appear whole or not at all.
 *  `options` and `handler` may be null.
 *
 *  Returns TENON_INVALID_ARGUMENT after at least one diagnostic of severity
 *  TENON_ERROR if the source, an option or a path is not right. */
TenonStatus tenonCompile(const char *source, size_t sourceBytes,
                         const char *sourceName,
                         const TenonCompileOptions *options, const char *output,
                         const char *header, TenonDiagnosticHandler handler,
                         void *context);

/** Gives the IR after `stage`, one of those that `tenon-compile
 *  --stop-after=help` lists, as text to `write`; else as `tenonCompile`. */
TenonStatus
tenonLower(const char *source, size_t sourceBytes, const char *sourceName,
           const TenonCompileOptions *options, const char *stage,
           void (*write)(const char *text, size_t bytes, void *context),
           TenonDiagnosticHandler handler, void *context);

/** Differs between any two builds of the compiler whose code differs. */
const char *tenonCompilerFingerprint(void);

/** Which ptxas and libdevice GPU code would be compiled with, and their
 *  version; or why there are none. Lives until the thread's next call. */
const char *tenonCompilerToolchain(void);

/** The GPU architectures that can be targets, "sm_80, sm_86, ...". */
const char *tenonListTargets(void);

#ifdef __cplusplus
}
#endif

#endif /* TENON_C_COMPILER_H */
