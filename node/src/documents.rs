//! Documents of a caller: texts, sets of items, or signatures. The thread that runs the call makes
//! their signatures.

use std::sync::Arc;

use napi::Env;
use napi::bindgen_prelude::{BigInt, Buffer, Either, Either3};
use napi_derive::napi;
use nearkin::{Error, ErrorKind, Signature};

use crate::failure::{Failure, value_or_failure};
use crate::job::{How, Reply, Stop, refuse_aborted, run};
use crate::keys::{Bytes, KeyType, owned};
use crate::params::NativeParams;

/// A `Signature` of JavaScript.
#[napi(object, object_to_js = false)]
pub struct SignatureParts {
    pub bytes: Buffer,
    pub shingle_count: u32,
    /// The id of the parameters.
    pub id: BigInt,
}

/// A document of a caller.
pub(crate) type Given = Either3<String, Vec<Bytes>, SignatureParts>;

/// A document that another thread may own: without values of JavaScript.
pub(crate) enum Document {
    Text(String),
    Items(Vec<Vec<u8>>),
    Signature { bytes: Vec<u8>, shingle_count: u32, id: u64 },
}

impl From<Given> for Document {
    fn from(given: Given) -> Self {
        match given {
            Either3::A(text) => Self::Text(text),
            Either3::B(items) => Self::Items(items.into_iter().map(owned).collect()),
            Either3::C(SignatureParts { bytes, shingle_count, id }) => {
                Self::Signature { bytes: bytes.to_vec(), shingle_count, id: id.get_u64().1 }
            }
        }
    }
}

/// Makes signatures. Any number of threads may use it.
#[derive(Debug, Clone)]
pub(crate) struct Sketch {
    pub(crate) params: Arc<nearkin::Params>,
    pub(crate) sketcher: nearkin::Sketcher,
}

impl Sketch {
    pub(crate) fn new(params: &Arc<nearkin::Params>) -> Self {
        Self { params: Arc::clone(params), sketcher: nearkin::Sketcher::new(params) }
    }

    pub(crate) fn signature(&self, document: &Document) -> nearkin::Result<Signature> {
        match document {
            Document::Text(text) => self.sketcher.text(text),
            Document::Items(items) => self.sketcher.items(items),
            Document::Signature { bytes, shingle_count, id } => {
                if *id != self.params.signature_id() {
                    let message = "the signature was made with other parameters: use the index's";
                    return Err(Error::new(ErrorKind::Mismatch, message));
                }
                Signature::from_bytes(&self.params, bytes, *shingle_count)
            }
        }
    }

    /// The signatures of several documents; `None` for a blank text and an empty set.
    fn signatures(
        &self,
        documents: &[Document],
        stop: Option<&Stop>,
    ) -> Result<Vec<Option<Signature>>, Failure> {
        let numbered = documents.iter().enumerate();
        let one = |(number, document)| {
            refuse_aborted(stop)?;
            match self.signature(document) {
                Ok(signature) => Ok(Some(signature)),
                Err(error) if error.kind() == ErrorKind::Empty => Ok(None),
                Err(error) => Err(Failure::from(error).of_document(number)),
            }
        };
        numbered.map(one).collect()
    }
}

/// Makes signatures for JavaScript.
#[napi]
pub struct NativeSketcher {
    sketch: Sketch,
}

#[napi]
impl NativeSketcher {
    #[napi(constructor)]
    pub fn new(params: &NativeParams) -> Self {
        Self { sketch: Sketch::new(&params.inner) }
    }

    /// The signature of one document.
    #[napi]
    pub fn one<'e>(&self, env: &'e Env, how: How<'_>, given: Given) -> Reply<'e> {
        let (sketch, document) = (self.sketch.clone(), Document::from(given));
        run(env, how, KeyType::Text, move |_| Ok(sketch.signature(&document)?))
    }

    /// The signatures of several documents.
    #[napi]
    pub fn many<'e>(&self, env: &'e Env, how: How<'_>, given: Vec<Given>) -> Reply<'e> {
        let sketch = self.sketch.clone();
        let documents: Vec<Document> = given.into_iter().map(Document::from).collect();
        run(env, how, KeyType::Text, move |stop| sketch.signatures(&documents, stop))
    }

    /// The estimated similarity of two signatures.
    #[napi]
    pub fn similarity(&self, a: SignatureParts, b: SignatureParts) -> Either<f64, Failure> {
        let made = |parts| self.sketch.signature(&Document::from(Either3::C(parts)));
        let equal = made(a).and_then(|a| a.equal_rows(&made(b)?));
        value_or_failure(
            equal.map_err(Failure::from).map(|equal| self.sketch.params.similarity(equal)),
        )
    }
}
