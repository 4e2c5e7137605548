/* A driver that launches nothing: it writes what it is asked for to the file CUDA_STUB_LOG. */
#include <cuda.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static FILE *log_file(void) {
  static FILE *file = NULL;
  if (file == NULL)
    file = fopen(getenv("CUDA_STUB_LOG"), "w");
  return file;
}

CUresult cuGetErrorString(CUresult error, const char **text) {
  *text = "stub";
  return CUDA_SUCCESS;
}

CUresult cuModuleLoadData(CUmodule *module, const void *image) {
  if (memcmp(image, "\177ELF", 4) != 0)
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  *module = (CUmodule)image;
  return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
  *function = (CUfunction)strdup(name);
  return CUDA_SUCCESS;
}

CUresult cuModuleUnload(CUmodule module) {
  fprintf(log_file(), "unload\n");
  return CUDA_SUCCESS;
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
  fprintf(log_file(), "attribute %d %d\n", attribute, value);
  return CUDA_SUCCESS;
}

CUresult cuLaunchKernel(CUfunction function, unsigned int gridX, unsigned int gridY, unsigned int gridZ,
                        unsigned int blockX, unsigned int blockY, unsigned int blockZ, unsigned int sharedBytes,
                        CUstream stream, void **parameters, void **extra) {
  fprintf(log_file(), "%s grid %u %u %u block %u pointer %llu number %d\n", (const char *)function, gridX, gridY, gridZ,
          blockX, (unsigned long long)*(CUdeviceptr *)parameters[0], *(int32_t *)parameters[2]);
  return CUDA_SUCCESS;
}
