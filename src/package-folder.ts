/** Where package.json and the migrations are: one folder above the sources, and above the files of a build, which all lie in one folder. */
export const packageFolder = new URL("..", import.meta.url);
