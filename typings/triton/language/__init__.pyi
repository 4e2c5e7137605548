from minitriton.language import *
