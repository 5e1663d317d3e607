/** Where package.json and the migrations are: one folder above the sources, and above the files of a build, which all lie in one folder. */
export const packageFolder = new URL("..", import.meta.url);

/** A file that is generated with the database clients and read at run time: beside the sources, and beside the files of a build. */
export const generatedFile = (name: string): URL => new URL(`generated/${name}`, import.meta.url);
